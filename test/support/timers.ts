import { afterAll, vi } from "vitest";

/**
 * Loads modules anew, so that they get the `node:timers/promises` that the file has mocked. Files share a process and
 * what others have loaded in it: in the end everything is forgotten again.
 */
export async function withTimers<T>(load: () => Promise<T>): Promise<T> {
  vi.resetModules();
  afterAll(() => {
    vi.doUnmock("node:timers/promises");
    vi.resetModules();
  });
  return load();
}
