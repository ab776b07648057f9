/**
 * `npm run test:upstream`: Kubernetes' own end-to-end tests of load balancers and Services, with real nodes and Lotse.
 * Writes docs/reference/upstream-tests.md. `npm run test:upstream -- text` runs only tests whose names contain the text,
 * also those that are left out otherwise, and writes no page.
 */
import { fileURLToPath } from "node:url";
import { runInEnclave } from "../../dev-env/nodes/enclave.ts";
import { provideImages } from "../../dev-env/nodes/images/images.ts";
import { missingFor, thisComputer } from "../../dev-env/nodes/requirements.ts";
import { provideNodeTools } from "../../dev-env/nodes/tools.ts";
import { ToolchainError } from "../../dev-env/toolchain/toolchain.ts";

const INSIDE = fileURLToPath(new URL("inside.ts", import.meta.url));
const WITH_TESTS = { hasUpstream: true };
const missing = missingFor(thisComputer());
if (missing.length > 0) process.stdout.write(`SKIPPED Kubernetes' own tests: ${missing.join("; ")}\n`);
else process.exitCode = await runTests(process.argv.slice(2));

async function runTests(parts: readonly string[]): Promise<number> {
  try {
    const store = await provideImages(await provideNodeTools(WITH_TESTS), WITH_TESTS);
    return (await runInEnclave(process.execPath, [INSIDE, ...parts], { store })) ?? 1;
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}
