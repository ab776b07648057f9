import { descendantsOf, residentMb } from "../support/process-tree.ts";

/** Resident megabytes of one process, and of its whole tree. */
export interface Memory {
  readonly own: number;
  readonly tree: number;
}

export function memoryOf(pid: number): Memory {
  const own = residentMb(pid);
  return { own, tree: descendantsOf(pid).reduce((sum, child) => sum + residentMb(child.pid), own) };
}
