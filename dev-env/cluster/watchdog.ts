import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

// Reads the ids to watch, one line replacing the other, until the pipe ends because we closed it or because we died.
// A process may still write while it is being killed, so the folder may need a second try.
const script = `
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
`;

/**
 * A tiny process that outlives this one, however it ends, to kill what it left running and to remove its folder.
 * It is a shell waiting on a pipe: the operating system closes our end when we die.
 */
export class Watchdog {
  readonly #shell: ChildProcess;
  readonly #pids = new Set<number>();

  constructor(dir: string) {
    this.#shell = spawn("sh", ["-c", script, "sh", dir], {
      stdio: ["pipe", "ignore", "ignore"],
      cwd: "/",
      detached: true, // so that the Ctrl-C of a terminal does not reach it
    });
    this.#shell.unref();
    // Without the watchdog we still clean up when stopped in order.
    this.#shell.on("error", () => {});
    this.#shell.stdin?.on("error", () => {});
  }

  /** From now on kills that process when this one dies. */
  watch(pid: number): void {
    this.#pids.add(pid);
    this.#send();
  }

  /** To be called when that process has ended: its id may soon belong to another. */
  forget(pid: number): void {
    this.#pids.delete(pid);
    this.#send();
  }

  /** Ends it; its folder is gone afterwards. */
  async stop(): Promise<void> {
    if (this.#shell.pid === undefined || this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    this.#shell.ref();
    const ended = once(this.#shell, "exit");
    this.#shell.stdin?.end();
    await ended;
  }

  #send(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(" ")}\n`);
  }
}
