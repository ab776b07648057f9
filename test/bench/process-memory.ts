import { descendantsOf, proportionalMb, residentMb } from "../support/process-tree.ts";

/** Resident megabytes of one process; and of its whole tree, with what processes share counted once, as a container counts it. */
export interface Memory {
  readonly own: number;
  readonly tree: number;
}

const SAMPLE_MS = 150;

export function memoryOf(pid: number): Memory {
  const own = proportionalMb(pid);
  const tree = descendantsOf(pid).reduce((sum, child) => sum + proportionalMb(child.pid), own);
  return { own: residentMb(pid), tree };
}

/** Watches a process and what it starts until told to stop; then gives the most that was seen. */
export function watchMemory(pid: number): () => Memory {
  let most = memoryOf(pid);
  const look = () => {
    const { own, tree } = memoryOf(pid);
    most = { own: Math.max(most.own, own), tree: Math.max(most.tree, tree) };
  };
  const timer = setInterval(look, SAMPLE_MS);
  return () => {
    clearInterval(timer);
    look();
    return most;
  };
}
