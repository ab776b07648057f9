/** Control groups of machines, in version 1 (one hierarchy per controller) and version 2 (one for all). */
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A mounted cgroup hierarchy. */
export interface Hierarchy {
  readonly path: string;
  readonly version: 1 | 2;
  /** Whether it controls on which processors and memory nodes processes run. */
  readonly isCpuset: boolean;
}

/** Finds all hierarchies in the text of /proc/self/mountinfo. */
export function parseHierarchies(mountInfo: string): readonly Hierarchy[] {
  return mountInfo.split("\n").flatMap((line): readonly Hierarchy[] => {
    const [before = "", after = ""] = line.split(" - ");
    const path = before.split(" ")[4] ?? "";
    const [type = "", , options = ""] = after.split(" ");
    if (type === "cgroup2") return [{ path, version: 2, isCpuset: false }];
    return type === "cgroup" ? [{ path, version: 1, isCpuset: options.split(",").includes("cpuset") }] : [];
  });
}

/** The hierarchies of this machine. */
export async function readHierarchies(): Promise<readonly Hierarchy[]> {
  return parseHierarchies(await readFile("/proc/self/mountinfo", "utf8"));
}

/**
 * Creates a group such as `lotse-a1b2/node-1` in every hierarchy. The kubelet requires that its root exists. Version 2
 * beside version 1 has no controllers: runc creates the groups there itself.
 */
export async function createGroup(hierarchies: readonly Hierarchy[], group: string): Promise<void> {
  const old = hierarchies.filter(({ version }) => version === 1);
  for (const { path, isCpuset } of old.length > 0 ? old : hierarchies) {
    await mkdir(join(path, group), { recursive: true });
    if (isCpuset) await copyCpuset(path, group);
  }
}

/** A new cpuset of version 1 is empty, and processes cannot enter it. */
async function copyCpuset(path: string, group: string): Promise<void> {
  let folder = path;
  for (const part of group.split("/")) {
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      await writeFile(join(folder, part, file), await readFile(join(folder, file), "utf8"));
    }
    folder = join(folder, part);
  }
}

/** Removes a group and everything below it. Groups with processes stay, and are retried by the next call. */
export async function removeGroup(hierarchies: readonly Hierarchy[], group: string): Promise<void> {
  await Promise.all(hierarchies.map(({ path }) => removeTree(join(path, group))));
}

async function removeTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(folder, entry.name));
  // A process that was killed a moment ago may still be in it.
  await rmdir(folder).catch(() => {});
}
