/** `npm start -- --real` as a process, with shells in its world. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { Shell } from "./console.ts";
import { eventually } from "./eventually.ts";
import { follow } from "./follow.ts";

const READY = "Ctrl-C stops everything";
const READY_MS = 240_000;

/** A demo in this checkout, with its output so far. */
export class RealDemo implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #followed: ReturnType<typeof follow>;

  constructor(...flags: readonly string[]) {
    const args = ["dev-env/demo/main.ts", "--real", ...flags];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#followed = follow(this.#child);
  }

  get output(): string {
    return this.#followed.output();
  }

  async ready(): Promise<void> {
    await eventually(
      () => {
        if (this.#child.exitCode !== null) throw new Error(`ended: ${this.output}`);
        expect(this.output).toContain(READY);
      },
      { timeoutMs: READY_MS },
    );
  }

  /** The commands that the demo suggests, without their comments. */
  get suggestions(): readonly string[] {
    return [...this.output.matchAll(/^ {2}(sh \S+.*?) +# /gm)].map(([, command = ""]) => command);
  }

  /** Path of the script that enters the world. */
  get script(): string {
    return /^ {2}sh (\S+)/m.exec(this.output)?.[1] ?? "";
  }

  /** Name of the world's folder and cgroups. */
  get world(): string {
    return /\/(lotse-\w+)\/env/.exec(readFileSync(this.script, "utf8"))?.[1] ?? "";
  }

  /** A shell in the world. */
  shell(): Shell {
    return new Shell(process.cwd(), { command: ["sh", this.script] });
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    await this.#followed.ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end("SIGTERM");
  }
}
