/** Memory of a process and everything it started, from the kernel's tables. */
import { readdirSync, readFileSync } from "node:fs";

/** Resident megabytes of one process, and of its whole tree. */
export interface Memory {
  readonly own: number;
  readonly tree: number;
}

export function memoryOf(pid: number): Memory {
  const children = childrenByParent();
  const sum = (id: number): number =>
    residentMb(id) + (children.get(id) ?? []).reduce((total, child) => total + sum(child), 0);
  return { own: residentMb(pid), tree: sum(pid) };
}

function childrenByParent(): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${entry}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  return children;
}

function residentMb(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // ended meanwhile
  }
}
