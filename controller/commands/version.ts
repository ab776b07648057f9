/** `lotse version`: versions of Lotse, its engine and its plugin. */
import packageJson from "../../package.json" with { type: "json" };
import { VERSIONS } from "../../stacks/state/versions.ts";
import { jsonText } from "../diagnostics/printable.ts";
import type { Given } from "./command-line.ts";

/** Prints the versions. */
export async function version({ flags }: Given): Promise<void> {
  const known = versions(process.env);
  const lines = Object.entries(known).map(([name, value]) => `${name.padEnd(8)} ${value}\n`);
  process.stdout.write(flags.json ? jsonText(known) : lines.join(""));
}

/** Versions of this build. An image has its own version and commit in the environment. */
export function versions(env: Readonly<Record<string, string | undefined>>) {
  return {
    lotse: env.LOTSE_VERSION || packageJson.version,
    commit: env.LOTSE_COMMIT || "unknown (running from source)",
    ...VERSIONS,
    node: process.versions.node,
  };
}
