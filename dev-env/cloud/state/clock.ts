/** Time, as a parameter of everything in the simulator. */

/** Returns milliseconds since the epoch. */
export interface Clock {
  now(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** A clock that tests advance. */
export class ManualClock implements Clock {
  #now = Date.parse("2026-11-01T00:00:00Z");

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

/** A time in the notation of the API: RFC 3339 with whole seconds and a `Z`. */
export function renderTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
