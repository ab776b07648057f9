/** An environment on this machine: its folder with keys, configuration and state, and its two stacks. */
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { KubeClient } from "../../controller/kube/client.ts";
import { loadAccess } from "../../controller/kube/kubeconfig.ts";
import { type StackOptions, StoredStack, stackVariables } from "../../stacks/engine/stack.ts";
import { writeState } from "../../stacks/state/workspace.ts";
import type { ProjectApi } from "../project/api.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { makeSecrets, type Secrets } from "./secrets.ts";
import { type Choices, SETTING_NAMES, type Settings } from "./settings.ts";

/** What every command works with. */
export interface Environment {
  readonly name: string;
  readonly settings: Settings;
  /** Settings that the user chose, now or earlier. */
  readonly choices: Choices;
  readonly folder: Folder;
  /** The project that it is built in. */
  readonly api: ProjectApi;
  /** Variables of other processes: those of this one, with the token and the endpoint of the API. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly screen: Screen;
  readonly tools: Pick<Toolchain, "paths" | "pulumiHome" | "binDir">;
  /** Fires when the user wants to stop. */
  readonly signal: AbortSignal;
}

/** Folders of the two programs, by the name of their project. */
const PROGRAMS = {
  "lotse-dev-env": fileURLToPath(new URL(".", import.meta.url)),
  "lotse-dev-cluster": fileURLToPath(new URL("cluster", import.meta.url)),
};

type Program = keyof typeof PROGRAMS;

/** Files of one environment. Only their owner may read them. */
export class Folder {
  readonly path: string;

  /** `base` is LOTSE_DEV_STATE, or a folder here that git ignores. */
  constructor(environment: string, base = fileURLToPath(new URL(".state", import.meta.url))) {
    this.path = resolve(base, environment);
  }

  get kubeconfig(): string {
    return join(this.path, "kubeconfig");
  }

  configFile(program: Program): string {
    return join(this.path, `${program}.yaml`);
  }

  /** The environment's secrets. They are created and written before any resource depends on them. */
  async secrets(environment: string): Promise<Secrets> {
    const file = join(this.path, "secrets.json");
    if (existsSync(file)) return JSON.parse(await readFile(file, "utf8")) as Secrets;
    const made = makeSecrets(environment);
    await this.write("ssh-key", made.sshKey.privateKey);
    await this.write("passphrase", made.passphrase);
    await this.write("secrets.json", JSON.stringify(made));
    return made;
  }

  /** Replaces a file atomically, readable for its owner only. */
  async write(name: string, text: string): Promise<void> {
    await mkdir(this.path, { recursive: true });
    await chmod(this.path, 0o700);
    await writeState(join(this.path, name), text);
  }

  /** Settings that were chosen earlier, from the configuration of the stack. */
  choices(): Choices {
    const file = this.configFile("lotse-dev-env");
    // A command that was killed may have left an empty file.
    const { config = {} } = (existsSync(file) && parse(readFileSync(file, "utf8"))) || {};
    const values = SETTING_NAMES.map((name) => [name, config[`lotse-dev-env:${name}`]] as const);
    return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Opens a stack. The screen shows each finished step. `given` replaces options, such as the file of the configuration. */
export async function openStack(
  env: Environment,
  program: Program,
  given: Partial<Pick<StackOptions, "configFile" | "onChange">> = {},
): Promise<StoredStack> {
  const { name, folder, screen, signal, tools, variables } = env;
  await folder.secrets(name);
  return StoredStack.open({
    name,
    program: PROGRAMS[program],
    pulumi: join(tools.binDir, "pulumi"),
    plugins: join(tools.pulumiHome, "plugins"),
    directory: folder.path,
    configFile: folder.configFile(program),
    env: variables,
    signal,
    onChange: (change) => screen.say("pulumi", change),
    ...given,
  });
}

/** `dev-env env`: prints variables for a shell: `eval "$(npm run -s dev-env env)"`. */
export async function printVariables({ name, folder, tools, variables: env }: Environment): Promise<void> {
  const files = { name, directory: folder.path, configFile: folder.configFile("lotse-dev-env"), env };
  const variables = { KUBECONFIG: folder.kubeconfig, ...stackVariables(files) };
  for (const [key, value] of Object.entries(variables)) process.stdout.write(`export ${key}='${value}'\n`);
  process.stdout.write(`export PATH='${tools.binDir}':"$PATH"\n`);
}

/** A client of the cluster; undefined if there is no kubeconfig yet. */
export async function openCluster({ folder }: Pick<Environment, "folder">): Promise<KubeClient | undefined> {
  if (!existsSync(folder.kubeconfig)) return undefined;
  return new KubeClient(await loadAccess(folder.kubeconfig), { timeoutMs: 10_000 });
}
