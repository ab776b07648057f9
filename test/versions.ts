/**
 * `npm run test:versions [-- 1.34 1.35] [-- test/integration/slice.test.ts]`: runs the integration tests with other
 * versions of the API server, one after another, and builds these if necessary. Not part of `npm test`: it takes an
 * hour.
 */
import { spawn } from "node:child_process";
import { provideTools } from "../dev-env/toolchain/progress.ts";
import { otherApiServers } from "../dev-env/toolchain/toolchain.ts";

const args = process.argv.slice(2);
const wanted = args.filter((arg) => /^\d+\.\d+$/.test(arg));
const files = args.filter((arg) => !wanted.includes(arg));
const results = new Map<string, boolean>();
for (const version of wanted.length > 0 ? wanted : otherApiServers) {
  process.env.LOTSE_KUBERNETES = version; // for this process and for the tests
  await provideTools(process.stdout);
  results.set(version, await runTests());
}
for (const [version, isFine] of results) process.stdout.write(`${isFine ? "ok  " : "FAIL"} Kubernetes ${version}\n`);
process.exitCode = [...results.values()].every(Boolean) ? 0 : 1;

function runTests(): Promise<boolean> {
  const child = spawn("vitest", ["run", "--project", "integration", ...files], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  return new Promise((resolve, reject) => child.on("error", reject).on("close", (code) => resolve(code === 0)));
}
