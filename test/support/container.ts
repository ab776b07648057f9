/**
 * A container made with the tools of the kernel: its own root folder, read-only except /tmp, its own process table,
 * another user, and its own environment. Without seccomp and cgroups, and with the network of this machine.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { descendantsOf } from "./process-tree.ts";

export interface ContainerOptions {
  readonly root: string;
  readonly user: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Mounts and changes the root, then executes the program as process 1. */
const SCRIPT = `
set -e
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
exec chroot --userspec="$user:$user" "$root" "$@"
`;

/** Why this machine cannot run containers; undefined if it can. */
export function whyNoContainers(): string | undefined {
  try {
    execFileSync("unshare", ["--mount", "--pid", "--fork", "sh", "-c", "mount -t tmpfs tmpfs /mnt"], { stdio: "pipe" });
    return undefined;
  } catch {
    return "this machine, or this user, may not make namespaces and mounts";
  }
}

export class Container {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly ended: Promise<number | null>;

  constructor({ root, user, command, env }: ContainerOptions) {
    const isolate = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT, "container", root, String(user)];
    this.#child = spawn("unshare", [...isolate, ...command], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...env },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.#lines.push(line));
    }
    this.ended = once(this.#child, "close").then(([code]) => code as number | null);
  }

  /** Output so far. */
  get output(): string {
    return this.#lines.join("\n");
  }

  /** Process id of the program on this machine; undefined after it has exited. */
  get pid(): number | undefined {
    const [program] = descendantsOf(this.#child.pid ?? 0);
    return program?.pid;
  }

  /** Sends SIGTERM, as a kubelet does. */
  async stop(): Promise<number | null> {
    const { pid } = this;
    if (pid !== undefined) process.kill(pid, "SIGTERM");
    return this.ended;
  }
}
