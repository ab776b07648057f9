/** Measures the peak memory of a process and its descendants. */
import { anonymousMb, residentMb, treeMb } from "../support/process-tree.ts";

/** Megabytes of a process, and of its tree as in a container of its own. */
export interface Memory {
  /** Resident memory. */
  readonly own: number;
  /** The part of it that is not backed by files. */
  readonly anonymous: number;
  readonly tree: number;
}

const SAMPLE_MS = 150;

export function memoryOf(pid: number): Memory {
  return { own: residentMb(pid), anonymous: anonymousMb(pid), tree: treeMb(pid) };
}

/** Samples a process and its descendants until stopped, and returns the peak. */
export function watchMemory(pid: number): () => Memory {
  let most = memoryOf(pid);
  const look = () => {
    const { own, anonymous, tree } = memoryOf(pid);
    most = {
      own: Math.max(most.own, own),
      anonymous: Math.max(most.anonymous, anonymous),
      tree: Math.max(most.tree, tree),
    };
  };
  const timer = setInterval(look, SAMPLE_MS);
  return () => {
    clearInterval(timer);
    look();
    return most;
  };
}
