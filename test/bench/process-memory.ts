/** Measures the peak memory of a process and its descendants. */
import { descendantsOf, proportionalMb, residentMb } from "../support/process-tree.ts";

/** Resident megabytes of a process, and of its tree with shared pages counted once, as for a container. */
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

/** Samples a process and its descendants until stopped, and returns the peak. */
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
