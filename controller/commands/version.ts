/** `lotse version`: versions of Lotse, its engine and its plugin. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { VERSIONS } from "../../stacks/state/versions.ts";
import { findEngine } from "../app/engine-home.ts";
import { programCommit, programVersion } from "../diagnostics/version.ts";
import type { Given } from "./command-line.ts";
import { print } from "./output.ts";

/** Prints the versions. */
export async function version({ flags }: Given): Promise<void> {
  print(versions(process.env), flags, (known) =>
    Object.entries(known)
      .map(([name, value]) => `${name.padEnd(8)} ${value}\n`)
      .join(""),
  );
}

/** Versions of this build. An image has its own version and commit in the environment. */
export function versions(env: Readonly<Record<string, string | undefined>>) {
  return {
    lotse: programVersion(env),
    commit: programCommit(env),
    pulumi: VERSIONS.pulumi,
    hcloud: pluginVersion(env),
    node: process.versions.node,
  };
}

/** The plugin's version and its origin: Pulumi's release, or a build of the same sources (see dev-env/toolchain). */
function pluginVersion(env: Readonly<Record<string, string | undefined>>): string {
  const wanted = VERSIONS.hcloud;
  try {
    const plugin = join(findEngine(env).plugins, `resource-hcloud-v${wanted}`, "pulumi-resource-hcloud");
    const said = execFileSync(plugin, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    return said.includes("(") ? said : `${said} (official)`;
  } catch {
    return `${wanted} (not installed)`;
  }
}
