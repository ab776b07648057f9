/** What a process prints, and how it ends. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Collects the output of both streams. `ended` resolves to the exit code; to null after a signal. */
export function follow(child: ChildProcess) {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended: Promise<number | null> = once(child, "close").then(([code]) => code);
  return { output: () => output, ended };
}
