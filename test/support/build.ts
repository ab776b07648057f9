/** Compiles the program before the slow tests: several of them use `dist/`, and at the same time. */
import { execFileSync } from "node:child_process";

/** Called by Vitest once, before the first file. */
export function setup(): void {
  execFileSync("npm", ["run", "--silent", "build"]);
}
