/** Prints the progress of downloads and builds. */
import type { Progress } from "./provision.ts";
import { ensureToolchain, type Toolchain, type ToolName } from "./toolchain.ts";

/** Where progress is printed: a terminal gets one live line, a file or pipe gets plain lines. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const liveMs = 500;
const plainMs = 30_000;
const eraseLine = "\r\u001b[K";

/** Prints downloads and builds as they happen; tools that already exist are not mentioned. */
export class ProgressDisplay {
  readonly #screen: Screen;
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Prints one event. To be passed to `ensureToolchain`. */
  readonly report = (progress: Progress): void => {
    clearInterval(this.#timer);
    switch (progress.phase) {
      case "waiting":
        this.#follow("waiting for another process to provide the tools");
        break;
      case "downloading":
        this.#follow(`${column(progress.label)} downloading`);
        break;
      case "building":
        this.#follow(`${column(progress.label)} building`, progress.remainingMs);
        break;
      case "not-downloaded":
        this.#line(`${column(progress.label)} download failed, building instead: ${progress.reason}`);
        break;
      default:
        this.#line(`${column(progress.label)} ${progress.phase} in ${seconds(progress.elapsedMs)}`);
    }
  };

  /** Clears the live line and stops the timer. */
  close(): void {
    clearInterval(this.#timer);
    if (this.#screen.isTTY) this.#screen.write(eraseLine);
  }

  /** Prints a step, and repeatedly its elapsed time. */
  #follow(text: string, remainingMs = 0): void {
    const startedMs = performance.now();
    const tick = () => {
      const elapsedMs = performance.now() - startedMs;
      const left = remainingMs > elapsedMs ? `, about ${minutes(remainingMs - elapsedMs)} left in total` : "";
      const status = `${text} … ${seconds(elapsedMs)}${left}`;
      this.#screen.write(this.#screen.isTTY ? `${eraseLine}${status}` : `${status}\n`);
    };
    tick();
    this.#timer = setInterval(tick, this.#screen.isTTY ? liveMs : plainMs);
  }

  #line(text: string): void {
    this.#screen.write(this.#screen.isTTY ? `${eraseLine}${text}\n` : `${text}\n`);
  }
}

/** Provides tools as `ensureToolchain` does, and prints the progress. */
export async function provideTools(screen: Screen, wanted?: readonly ToolName[]): Promise<Toolchain> {
  const display = new ProgressDisplay(screen);
  try {
    return await ensureToolchain(wanted, display.report);
  } finally {
    display.close();
  }
}

const column = (label: string) => label.padEnd(31);
const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
const minutes = (ms: number) => `${Math.ceil(ms / 60_000)} min`;
