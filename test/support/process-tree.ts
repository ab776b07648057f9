/** Descendants of a process and their memory, from /proc. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** All descendants of a process, without the process itself. */
export function descendantsOf(pid: number): readonly ProcessInfo[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => infoOf(Number(name)));
  const below = (parent: number): readonly ProcessInfo[] =>
    all.filter((info) => info.parent === parent).flatMap((info) => [info, ...below(info.pid)]);
  return below(pid);
}

/** Resident megabytes of one process. */
export function residentMb(pid: number): number {
  return megabytes(`/proc/${pid}/status`, "VmRSS");
}

/** The part of the resident megabytes that is not backed by files: heap and stacks, which the kernel cannot reclaim. */
export function anonymousMb(pid: number): number {
  return megabytes(`/proc/${pid}/status`, "RssAnon");
}

/**
 * Megabytes of a process and its descendants, as a container with nothing else in it: memory that is not backed by files,
 * plus, once for each program, the pages of its files.
 */
export function treeMb(pid: number): number {
  const files = new Map<string, number>();
  let anonymous = 0;
  for (const { pid: one } of [{ pid }, ...descendantsOf(pid).filter(isOwnProgram)]) {
    const program = executableOf(one);
    files.set(program, Math.max(files.get(program) ?? 0, megabytes(`/proc/${one}/status`, "RssFile")));
    anonymous += anonymousMb(one);
  }
  return files.values().reduce((sum, mb) => sum + mb, anonymous);
}

/** CPU milliseconds of a process so far, with those of its children that have ended. Linux counts in hundredths of a second. */
export function cpuMsOf(pid: number): number {
  const fields = statOf(pid);
  const ticks = [11, 12, 13, 14].map((index) => Number(fields[index] ?? 0));
  return ticks.reduce((sum, count) => sum + count * 10, 0);
}

/** False between fork and exec, when a process still shares the memory of its parent. */
function isOwnProgram({ parent, command }: ProcessInfo): boolean {
  return command !== infoOf(parent).command;
}

function executableOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return ""; // has exited
  }
}

function megabytes(file: string, field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(read(file));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
}

function infoOf(pid: number): ProcessInfo {
  return {
    pid,
    parent: Number(statOf(pid)[1] ?? -1),
    command: commandLineOf(pid).replaceAll("\0", " ").trim(),
  };
}

/**
 * The arguments of a process, separated by null characters. The first thread of a killed process can end before the
 * others, which may still be sending something. Then only they have the arguments.
 */
function commandLineOf(pid: number): string {
  const own = read(`/proc/${pid}/cmdline`);
  if (own !== "") return own;
  const others = threadsOf(pid).map((thread) => read(`/proc/${pid}/task/${thread}/cmdline`));
  return others.find((text) => text !== "") ?? "";
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // has exited
  }
}

/** The fields of /proc/<pid>/stat behind the name of the program: state, parent, and so on. */
function statOf(pid: number): readonly string[] {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Reads a file, or returns nothing if the process has exited. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
