/** Runs other programs to completion. */
import { type SpawnOptionsWithoutStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

/** What the program reads from its standard input, by default nothing, and how to start it. */
export interface RunOptions extends Pick<SpawnOptionsWithoutStdio, "cwd" | "env" | "timeout"> {
  readonly input?: string;
}

/** Runs a program to completion and returns its output. Rejects with its error message if it fails. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { input = "", ...how } = options;
  const child = spawn(command, args, how);
  child.stdin.on("error", () => {}); // A program that fails early does not read its input; its exit code says so.
  child.stdin.end(input);
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  if (code === 0) return output;
  throw new Error(`${command} ${args.join(" ")}: ${errors.trim() || output.trim() || `exit code ${code}`}`);
}
