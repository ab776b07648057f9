/** Stands in for `node:timers/promises` (with `vi.mock`): waits pass a hundred times faster, and are written down. */

/** Every wait asked for, in milliseconds of the program's own time. */
export const waits: number[] = [];

const SPEED = 100;

export function setTimeout<T>(
  ms = 0,
  value?: T,
  options: { readonly signal?: AbortSignal } = {},
): Promise<T | undefined> {
  waits.push(ms);
  return new Promise((resolve, reject) => {
    const timer = globalThis.setTimeout(() => resolve(value), ms / SPEED);
    options.signal?.addEventListener("abort", () => {
      globalThis.clearTimeout(timer);
      reject(options.signal?.reason);
    });
  });
}
