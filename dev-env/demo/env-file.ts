/** The file that users source: `.lotse/env`, or `.lotse/env-2` and so on while other demos of the checkout run. */
import { link, mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isAlive } from "../../controller/app/scratch.ts";
import type { Cloud } from "../cloud/cloud.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { VARIABLES_OUTSIDE } from "../terminal/controller.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NODE = join(ROOT, "node_modules", ".bin");
/** Runs with the Node of this process: the first one in PATH may be too old for TypeScript. */
const LAUNCHER = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, "controller", "main.ts")}' "$@"\n`;

/** Environment variables of a controller that runs outside of the cluster. */
export function environmentOf(cloud: Cloud, cluster: Cluster): Readonly<Record<string, string>> {
  return {
    KUBECONFIG: cluster.kubeconfig,
    HCLOUD_TOKEN: cloud.token,
    HCLOUD_ENDPOINT: cloud.url,
    HCLOUD_NETWORK: "cluster",
    ...VARIABLES_OUTSIDE,
  };
}

/** Shell commands that set these variables and make kubectl, lotse and the other tools available. */
export async function shellSettings(
  environment: Readonly<Record<string, string>>,
  { binDir, pulumiHome }: Pick<Toolchain, "binDir" | "pulumiHome">,
  folder: string,
): Promise<string> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, "lotse"), LAUNCHER, { mode: 0o755 });
  // With PULUMI_HOME, a plain `pulumi` finds the plugin.
  const exports = Object.entries({ ...environment, PULUMI_HOME: pulumiHome });
  const lines = exports.map(([name, value]) => `export ${name}='${value}'`);
  return `${lines.join("\n")}\nexport PATH='${[bin, binDir, NODE].join(":")}':$PATH\n`;
}

/**
 * Writes the settings to the first name that no running process owns, and returns its path. A file that a killed
 * process left behind is replaced. `name` is the first name to try.
 */
export async function writeEnvFile(
  folder: string,
  settings: string,
  owner = process.pid,
  name = "env",
): Promise<string> {
  await mkdir(folder, { recursive: true });
  await using scratch = await mkdtempDisposable(join(folder, "new-"));
  // Written first and linked then, so that a file that exists is complete.
  const complete = join(scratch.path, "env");
  await writeFile(complete, `# process ${owner}\n${settings}`, { mode: 0o600 });
  for (let number = 1; ; ) {
    const file = join(folder, number === 1 ? name : `${name}-${number}`);
    if (await tryLink(complete, file)) return file;
    if (await isOwned(file)) number += 1;
    else await rm(file, { force: true });
  }
}

/** Creates the link. False if the name is taken. */
async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function isOwned(file: string): Promise<boolean> {
  const text = await readFile(file, "utf8").catch(() => "");
  const pid = /^# process (\d+)\n/.exec(text)?.[1];
  return pid !== undefined && isAlive(Number(pid));
}
