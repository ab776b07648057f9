/** Descendants of a process and their memory, from /proc. */
import { readdirSync, readFileSync } from "node:fs";

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
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
}

/** Megabytes of a process, including its proportional share of pages shared with others. */
export function proportionalMb(pid: number): number {
  const match = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
}

function infoOf(pid: number): ProcessInfo {
  const stat = read(`/proc/${pid}/stat`);
  const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? -1);
  return { pid, parent, command: read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim() };
}

/** Reads a file, or returns nothing if the process has exited. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
