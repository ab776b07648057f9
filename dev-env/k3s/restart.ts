/** Keeps a program running, and starts it anew when its sources change. */

import { once } from "node:events";
import { watch } from "node:fs";
import type { Running } from "./controller.ts";

export interface RestartOptions {
  /** Folders with the sources, all the way down. */
  readonly sources: readonly string[];
  readonly start: () => Running;
  /** Changes are gathered until this much quiet: editors and version control write many files at once. */
  readonly quietMs: number;
  /** Ends it all. */
  readonly signal: AbortSignal;
  readonly onChange?: (file: string) => void;
  /** It ended by itself: after a mistake in the sources it makes no sense to try again before they change. */
  readonly onEnd?: () => void;
}

/** Runs until the signal fires; the program is stopped then, and there is never more than one. */
export async function keepRunning({ sources, start, quietMs, signal, onChange, onEnd }: RestartOptions): Promise<void> {
  const changes = new ChangeWatch(sources, quietMs);
  using _watching = changes;
  while (!signal.aborted) {
    const program = start();
    const stopping = { is: false };
    void program.ended.then(() => {
      if (!stopping.is) onEnd?.();
    });
    const file = await Promise.race([changes.next(), aborted(signal)]);
    stopping.is = true;
    if (file !== undefined) onChange?.(file);
    await program.stop();
  }
}

/** Notices changes of sources below some folders. */
class ChangeWatch implements Disposable {
  readonly #watchers: readonly ReturnType<typeof watch>[];
  readonly #quietMs: number;
  #timer: NodeJS.Timeout | undefined;
  #changed: string | undefined;
  #notify: (() => void) | undefined;

  constructor(folders: readonly string[], quietMs: number) {
    this.#quietMs = quietMs;
    this.#watchers = folders.map((folder) =>
      watch(folder, { recursive: true }, (_event, file) => {
        if (file !== null && isSource(file)) this.#note(file);
      }),
    );
  }

  /** The file that changed, as soon as it has been quiet for a moment; also when it changed before this was asked. */
  async next(): Promise<string> {
    while (this.#changed === undefined) {
      await new Promise<void>((resolve) => {
        this.#notify = resolve;
      });
    }
    const file = this.#changed;
    this.#changed = undefined;
    return file;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  #note(file: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#changed = file;
      this.#notify?.();
    }, this.#quietMs);
  }
}

/** Editors leave other files for a moment. */
function isSource(file: string): boolean {
  return /(^|\/)[^./][^/]*\.(ts|json)$/.test(file);
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await once(signal, "abort");
  return undefined;
}
