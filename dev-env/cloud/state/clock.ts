/** The only source of time in the simulator: milliseconds since the epoch. */
export interface Clock {
  now(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** A clock that stands still until told to move; actions, certificates and the rate limit all follow it. */
export class ManualClock implements Clock {
  #now: number;

  constructor(start: number | string = "2026-11-01T00:00:00Z") {
    this.#now = typeof start === "number" ? start : Date.parse(start);
  }

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

/** Hetzner writes times in whole seconds, RFC 3339 with a `Z`. */
export function renderTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
