/** `npm run setup`: provides all tools, and prints how to use them. */
import { ProgressDisplay } from "./progress.ts";
import { ensureToolchain, ToolchainError } from "./toolchain.ts";

const startedMs = performance.now();
const display = new ProgressDisplay(process.stdout);
try {
  const { binDir } = await ensureToolchain(undefined, display.report);
  display.close();
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  process.stdout.write(
    `\nAll tools are ready after ${seconds} s. To use them in a shell:\n  export PATH=${binDir}:$PATH\n`,
  );
} catch (error) {
  display.close();
  if (!(error instanceof ToolchainError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
