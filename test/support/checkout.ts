/** A copy of this checkout in which commands of the documents run, as the current or as an ordinary user. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { Shell } from "./console.ts";
import { eventually } from "./eventually.ts";
import { follow } from "./follow.ts";

/** Not a user of any system. */
const ORDINARY = 61_234;
const AS_ORDINARY = ["setpriv", `--reuid=${ORDINARY}`, `--regid=${ORDINARY}`, "--clear-groups"];
const COPIED = ["controller", "stacks", "dev-env", "package.json", "package-lock.json", "Pulumi.yaml", "tsconfig.json"];

/** Who runs the commands. */
export type User = "current" | "ordinary";

/** Why commands cannot run as an ordinary user here; undefined if they can. */
export function whyNoOrdinaryUser(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can become another user";
  try {
    const [program = "", ...args] = [...AS_ORDINARY, process.execPath, "--version"];
    execFileSync(program, args, { stdio: "ignore" });
    return undefined;
  } catch {
    return "setpriv is missing, or this checkout is not readable for everyone";
  }
}

/** A command line in its own process group, as in a terminal. */
export interface Started {
  readonly pid: number;
  readonly output: () => string;
  /** The exit code; null after a signal. */
  readonly ended: Promise<number | null>;
  readonly hasEnded: () => boolean;
  /** Sends a signal to the group: SIGINT is Ctrl-C. */
  kill(signal: NodeJS.Signals): void;
}

/** The copy, with a `.lotse` of its own. An ordinary user also has a home of its own, with the toolchain in it. */
export class Checkout implements Disposable {
  readonly folder: string;
  readonly #command: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #started = new Set<Started>();

  constructor(user: User) {
    this.folder = mkdtempSync(join(tmpdir(), "lotse-checkout-"));
    for (const name of COPIED) execFileSync("cp", ["-R", name, this.folder]);
    symlinkSync(join(process.cwd(), "node_modules"), join(this.folder, "node_modules"));
    const { PATH = "", HOME = homedir(), XDG_CACHE_HOME } = process.env;
    const cache = XDG_CACHE_HOME ? { XDG_CACHE_HOME } : {};
    this.#command = user === "ordinary" ? AS_ORDINARY : [];
    this.#env = user === "ordinary" ? { PATH, HOME: this.#makeHome() } : { PATH, HOME, ...cache };
  }

  /** Starts a command line of a document. */
  start(line: string): Started {
    const [program = "", ...args] = [...this.#command, "bash", "-c", `exec ${line}`];
    const child = spawn(program, args, { cwd: this.folder, env: this.#env, detached: true });
    const { pid = 0 } = child;
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    const kill = (signal: NodeJS.Signals) => {
      if (!hasEnded()) process.kill(-pid, signal);
    };
    const started = { pid, ...follow(child), hasEnded, kill };
    this.#started.add(started);
    return started;
  }

  /** A second terminal. */
  shell(): Shell {
    return new Shell(this.folder, { command: this.#command, env: { ...this.#env, TMPDIR: this.folder } });
  }

  [Symbol.dispose](): void {
    for (const started of this.#started) started.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /**
   * A home with hard links to the toolchain's binaries. Only the folders belong to the ordinary user: another owner of a
   * binary would be another owner of the original.
   */
  #makeHome(): string {
    const home = join(this.folder, "home");
    const cache = join(home, ".cache", "lotse");
    const original = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "lotse");
    mkdirSync(cache, { recursive: true });
    execFileSync("chown", ["-R", `${ORDINARY}`, this.folder]);
    for (const part of ["sets", "store"]) execFileSync("cp", ["-al", join(original, part), cache]);
    execFileSync("find", [cache, "-type", "d", "-exec", "chown", `${ORDINARY}`, "{}", "+"]);
    return home;
  }
}

/** Waits until a process has printed a text. */
export async function printed(started: Started, text: string): Promise<void> {
  await eventually(
    () => {
      if (started.output().includes(text)) return;
      const state = started.hasEnded() ? "exited" : "runs";
      throw new Error(`${state} without printing ${JSON.stringify(text)}:\n${started.output()}`);
    },
    { timeoutMs: 90_000 },
  );
}
