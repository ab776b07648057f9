/** `npm run setup`: provides all tools, and prints how to use them. */
import { provideTools } from "./progress.ts";
import { ToolchainError } from "./toolchain.ts";

const startedMs = performance.now();
try {
  const { binDir } = await provideTools(process.stdout);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  process.stdout.write(
    `\nAll tools are ready after ${seconds} s. To use them in a shell:\n  export PATH=${binDir}:$PATH\n`,
  );
} catch (error) {
  if (!(error instanceof ToolchainError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
