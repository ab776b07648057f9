/** An environment on this machine: its folder with keys, configuration and state, and its two stacks. */
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { KubeClient } from "../../controller/kube/client.ts";
import { loadAccess } from "../../controller/kube/kubeconfig.ts";
import { describeStep } from "../../stacks/engine/progress.ts";
import { StoredStack, stackVariables } from "../../stacks/engine/stack.ts";
import type { Access } from "../project/api.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import type { Screen } from "./screen.ts";
import { makeSecrets, type Secrets } from "./secrets.ts";
import { type Choices, SETTING_NAMES, type Settings } from "./settings.ts";

/** What every command works with. */
export interface Environment {
  readonly name: string;
  readonly settings: Settings;
  /** Settings that the user chose, now or earlier. */
  readonly choices: Choices;
  readonly folder: Folder;
  readonly access: Access;
  readonly screen: Screen;
  readonly tools: Pick<Toolchain, "paths" | "pulumiHome" | "binDir">;
  /** Fires when the user wants to stop. */
  readonly signal: AbortSignal;
}

/** The two programs, with the name of their project. */
export type Program = "lotse-dev-env" | "lotse-dev-cluster";

const PROGRAMS: Readonly<Record<Program, string>> = {
  "lotse-dev-env": fileURLToPath(new URL(".", import.meta.url)),
  "lotse-dev-cluster": fileURLToPath(new URL("cluster", import.meta.url)),
};

/** Files of one environment. Only their owner may read them. */
export class Folder {
  readonly path: string;

  /** `base` is LOTSE_DEV_STATE, or a folder here that git ignores. */
  constructor(environment: string, base = fileURLToPath(new URL(".state", import.meta.url))) {
    this.path = join(base, environment);
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
    const file = join(this.path, name);
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  /** The configuration of a stack by key; secret values are objects. Empty if there is none. */
  config(program: Program): Readonly<Record<string, unknown>> {
    const entries = Object.entries(this.#read(program).config ?? {});
    return Object.fromEntries(entries.map(([key, value]) => [key.replace(`${program}:`, ""), value]));
  }

  /** Settings that were chosen earlier. */
  choices(): Choices {
    const config = this.config("lotse-dev-env");
    return Object.fromEntries(SETTING_NAMES.flatMap((key) => (key in config ? [[key, String(config[key])]] : [])));
  }

  /** Writes plain values beside those in the configuration of a stack, into its own file or another one. */
  async configure(program: Program, values: object, file = this.configFile(program)): Promise<void> {
    const { config, ...rest } = this.#read(program);
    const added = Object.entries(values).map(([key, value]) => [key.includes(":") ? key : `${program}:${key}`, value]);
    await this.write(
      file.slice(this.path.length + 1),
      stringify({ ...rest, config: { ...config, ...Object.fromEntries(added) } }),
    );
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  #read(program: Program): { readonly config?: Readonly<Record<string, unknown>> } {
    const file = this.configFile(program);
    return existsSync(file) ? (parse(readFileSync(file, "utf8")) ?? {}) : {};
  }
}

/** Opens a stack. The screen shows each finished step. `configFile` replaces the stack's configuration. */
export async function openStack(env: Environment, program: Program, configFile?: string): Promise<StoredStack> {
  const { name, folder, screen, signal, tools, access } = env;
  await folder.secrets(name);
  return StoredStack.open({
    name,
    program: PROGRAMS[program],
    pulumi: join(tools.binDir, "pulumi"),
    plugins: join(tools.pulumiHome, "plugins"),
    directory: folder.path,
    configFile: configFile ?? folder.configFile(program),
    env: { ...process.env, HCLOUD_TOKEN: access.token, HCLOUD_ENDPOINT: access.endpoint },
    signal,
    onStep: (step) => {
      const line = describeStep(step);
      if (line) screen.say("pulumi", line);
    },
  });
}

/** `dev-env env`: prints variables for a shell: `eval "$(npm run -s dev-env env)"`. */
export async function printVariables({ name, folder, tools }: Environment): Promise<void> {
  const files = { name, directory: folder.path, configFile: folder.configFile("lotse-dev-env"), env: process.env };
  const variables = { KUBECONFIG: folder.kubeconfig, ...stackVariables(files) };
  for (const [key, value] of Object.entries(variables)) process.stdout.write(`export ${key}='${value}'\n`);
  process.stdout.write(`export PATH='${tools.binDir}':"$PATH"\n`);
}

/** A client of the cluster; undefined if there is no kubeconfig yet. */
export async function openCluster({ folder }: Pick<Environment, "folder">): Promise<KubeClient | undefined> {
  if (!existsSync(folder.kubeconfig)) return undefined;
  return new KubeClient(await loadAccess(folder.kubeconfig), { timeoutMs: 10_000 });
}
