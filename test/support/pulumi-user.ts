/** A person with Pulumi's command line and a backend of their own. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import type { World } from "./world.ts";

export interface PulumiUser extends AsyncDisposable {
  /** A folder of the user, with an empty project `lotse` in `lotse/`. */
  readonly folder: string;
  /** Where the stacks are. */
  readonly backend: string;
  /** Runs `pulumi` in a project, by default in the empty one. Rejects with everything it printed. */
  pulumi(args: readonly string[], project?: string): Promise<string>;
}

export interface PulumiUserOptions {
  /** By default a folder. */
  readonly backend?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The user works with the world's cloud. */
export async function aPulumiUser(world: Pick<World, "cloud">, given: PulumiUserOptions = {}): Promise<PulumiUser> {
  const { paths, pulumiHome } = await ensureToolchain(["pulumi", "pulumi-language-nodejs", "pulumi-resource-hcloud"]);
  const folder = await mkdtemp(join(tmpdir(), "lotse-pulumi-user-"));
  const empty = join(folder, "lotse");
  for (const name of ["lotse", "backend"]) await mkdir(join(folder, name));
  await writeFile(join(empty, "Pulumi.yaml"), "name: lotse\nruntime: nodejs\n");
  const backend = given.backend ?? `file://${join(folder, "backend")}`;
  const env = {
    PATH: [dirname(process.execPath), dirname(paths.pulumi), process.env.PATH].join(delimiter),
    HOME: folder,
    USER: "ann",
    PULUMI_HOME: pulumiHome,
    PULUMI_BACKEND_URL: backend,
    PULUMI_CONFIG_PASSPHRASE: "",
    PULUMI_SKIP_UPDATE_CHECK: "true",
    HCLOUD_TOKEN: world.cloud.token,
    HCLOUD_ENDPOINT: world.cloud.url,
    ...given.env,
  };
  return {
    folder,
    backend,
    pulumi: async (args, project = empty) => {
      try {
        const all = [...args, "--non-interactive"];
        return (await promisify(execFile)(paths.pulumi, all, { cwd: project, env, maxBuffer: 1 << 26 })).stdout;
      } catch (error) {
        const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
        throw new Error(`pulumi ${args.join(" ")}\n${stdout}\n${stderr}`, { cause: error });
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
