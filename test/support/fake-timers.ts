/** Stands in for `node:timers/promises` (with `vi.mock`): waits on the global timers, which `vi.useFakeTimers` moves. */
export function setTimeout<T>(
  ms = 0,
  value?: T,
  options: { readonly signal?: AbortSignal } = {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = globalThis.setTimeout(() => resolve(value), ms);
    options.signal?.addEventListener("abort", () => {
      globalThis.clearTimeout(timer);
      reject(options.signal?.reason);
    });
  });
}
