import type { Progress } from "./provision.ts";
import type { Tool } from "./tools.ts";

/** Where progress is shown: a terminal gets one live line, anything else plain lines. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const liveMs = 500;
const plainMs = 30_000;
const eraseLine = "\r\u001b[K";
const outcomes = {
  assets: "from KUBEBUILDER_ASSETS",
  cache: "in the cache",
  path: "found on this machine",
  download: "downloaded",
  build: "built",
} as const;

/** Shows provisioning as it happens. With `isQuiet`, a tool that was there already is not worth a line. */
export class ProgressDisplay {
  readonly #screen: Screen;
  readonly #isQuiet: boolean;
  #active: { readonly text: string; readonly startedMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasAnnouncedBuild = false;

  constructor(screen: Screen, isQuiet = false) {
    this.#screen = screen;
    this.#isQuiet = isQuiet;
  }

  /** Takes one event; to be handed to `ensureToolchain`. */
  readonly report = (progress: Progress): void => {
    const { tool, phase } = progress;
    if (phase === "ready") {
      const { source, elapsedMs } = progress;
      const isWork = source === "build" || source === "download";
      this.#stopTimer();
      if (isWork || !this.#isQuiet) this.#line(`${label(tool)} ${outcomes[source]}${isWork ? took(elapsedMs) : ""}`);
      return;
    }
    if (phase === "building") this.#announceBuild();
    const text =
      phase === "waiting" ? "waiting for another process that provides the tools" : `${label(tool)} ${phase}`;
    if (text === this.#active?.text) return;
    this.#active = { text, startedMs: performance.now() };
    if (!this.#screen.isTTY && phase !== "searching") this.#screen.write(`${text} …\n`);
    this.#timer ??= setInterval(() => this.#tick(), this.#screen.isTTY ? liveMs : plainMs);
  };

  /** Clears the live line and stops the clock. */
  close(): void {
    this.#stopTimer();
    if (this.#screen.isTTY) this.#screen.write(eraseLine);
  }

  #announceBuild(): void {
    if (this.#hasAnnouncedBuild) return;
    this.#hasAnnouncedBuild = true;
    this.#line("building from source, once; everything takes about 15 minutes on two cores");
  }

  #tick(): void {
    if (!this.#active) return;
    const text = `${this.#active.text} … ${seconds(performance.now() - this.#active.startedMs)}`;
    this.#screen.write(this.#screen.isTTY ? `${eraseLine}${text}` : `${text}\n`);
  }

  #line(text: string): void {
    this.#screen.write(this.#screen.isTTY ? `${eraseLine}${text}\n` : `${text}\n`);
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#active = undefined;
  }
}

const label = (tool: Tool) => `${tool.name} ${tool.version}`.padEnd(31);
const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
const took = (ms: number) => (ms < 1_000 ? "" : ` in ${seconds(ms)}`);
