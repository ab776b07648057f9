/** `lotse version`: what exactly is running. */
import packageJson from "../../package.json" with { type: "json" };
import { VERSIONS } from "../../stacks/state/versions.ts";
import { jsonText } from "../diagnostics/printable.ts";
import type { Given } from "./command-line.ts";

export async function version({ flags }: Given): Promise<void> {
  const known = versions(process.env);
  const lines = Object.entries(known).map(([name, value]) => `${name.padEnd(8)} ${value}\n`);
  process.stdout.write(flags.json ? jsonText(known) : lines.join(""));
}

/** What is known of this build; an image carries the commit that it was made from in its environment. */
export function versions(env: Readonly<Record<string, string | undefined>>) {
  return {
    lotse: env.LOTSE_VERSION || packageJson.version,
    commit: env.LOTSE_COMMIT || "unknown (running from source)",
    ...VERSIONS,
    node: process.versions.node,
  };
}
