/** Cleans up after this process, even if it is killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

// Reads lines with the ids to watch, of which the last one counts, until the pipe is closed or its writer dies. The
// second `rm` is for files that a process writes while it is being killed. A cgroup cannot be removed until its last
// process is gone, and only by `rmdir`.
const script = `
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
dir=$1
shift
for cgroup; do
  for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -d "$cgroup" ] || break
    find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
  done
done
rm -rf -- "$dir" || { sleep 1; rm -rf -- "$dir"; }
`;

/**
 * A shell process that waits on a pipe. When this process ends, for whatever reason, the operating system closes the
 * pipe; the shell then kills the watched processes, removes the cgroups and deletes the folder.
 */
export class Watchdog {
  readonly #shell: ChildProcess;
  readonly #pids = new Set<number>();

  constructor(dir: string, cgroups: readonly string[] = []) {
    this.#shell = spawn("sh", ["-c", script, "sh", dir, ...cgroups], {
      stdio: ["pipe", "ignore", "ignore"],
      cwd: "/",
      detached: true, // so that Ctrl-C does not reach it
    });
    this.#shell.unref();
    // Without a watchdog, a regular stop still cleans up.
    this.#shell.on("error", () => {});
    this.#shell.stdin?.on("error", () => {});
  }

  /** Adds a process to kill when this one ends. A negative id is that of a process group. */
  watch(pid: number): void {
    this.#pids.add(pid);
    this.#send();
  }

  /** Removes a process that has exited, because its id may be reused. */
  forget(pid: number): void {
    this.#pids.delete(pid);
    this.#send();
  }

  /** Ends the watchdog, which deletes the folder. */
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
