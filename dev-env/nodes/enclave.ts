/** The namespaces of a world, seen from outside: runs a program in them, and cleans up after it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp } from "node:fs/promises";
import { basename, join } from "node:path";
import { Watchdog } from "../cluster/watchdog.ts";
import { cacheRoot } from "../toolchain/cache.ts";
import { readHierarchies } from "./machine/cgroups.ts";

/** What the program in the namespaces needs to know. */
export interface Enclave {
  /** Folder for everything that is written, deleted at the end. On the same file system as the images. */
  readonly dir: string;
  /** Name of the world's cgroup. */
  readonly cgroup: string;
  /** containerd's store with the images. */
  readonly store: string;
}

const UNSHARE = ["--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"];

/** The enclave in which this process runs. Throws outside. */
export function enclaveOf(env: Readonly<Record<string, string | undefined>>): Enclave {
  const { LOTSE_WORLD: dir, LOTSE_WORLD_IMAGES: store } = env;
  if (!dir || !store) throw new Error("a world starts in its own namespaces only: use runInEnclave");
  return { dir, cgroup: basename(dir), store };
}

/**
 * Runs a program in new namespaces, with this terminal, and returns its exit code; null if it was killed. Signals are for
 * the program to handle. Nothing is left when this process ends, even after SIGKILL.
 */
export async function runInEnclave(
  command: string,
  args: readonly string[],
  {
    store,
    onStart = () => {},
  }: { readonly store: string; readonly onStart?: (child: ChildProcess, dir: string) => void },
): Promise<number | null> {
  const worlds = join(cacheRoot(process.env), "worlds");
  await mkdir(worlds, { recursive: true });
  const dir = await mkdtemp(join(worlds, "lotse-"));
  const groups = (await readHierarchies()).map(({ path }) => join(path, basename(dir)));
  const watchdog = new Watchdog(dir, groups);
  try {
    const child = spawn("unshare", [...UNSHARE, command, ...args], {
      stdio: "inherit",
      env: { ...process.env, LOTSE_WORLD: dir, LOTSE_WORLD_IMAGES: store, TMPDIR: dir },
    });
    watchdog.watch(child.pid ?? 0);
    onStart(child, dir);
    const [code] = await once(child, "close");
    watchdog.forget(child.pid ?? 0);
    return code;
  } finally {
    await watchdog.stop();
  }
}
