/** The folder in which an environment's keys, kubeconfig, choices and states are kept. Only its owner may look inside. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Choices } from "./config.ts";
import { makeSecrets, type Secrets } from "./secrets.ts";

/** Where environments are kept: `LOTSE_DEV_STATE`, or a folder here that git ignores. */
export function stateDirectory(env: Readonly<Record<string, string | undefined>>): string {
  return env.LOTSE_DEV_STATE || fileURLToPath(new URL(".state", import.meta.url));
}

export class Folder {
  readonly path: string;

  constructor(environment: string, base: string) {
    this.path = join(base, environment);
  }

  /** True when there is, or may be, something of the environment. */
  get exists(): boolean {
    return existsSync(this.path);
  }

  get kubeconfig(): string {
    return join(this.path, "kubeconfig");
  }

  /** Where the first stack works. */
  get cloud(): string {
    return join(this.path, "cloud");
  }

  /** Where the second stack works. Another control plane is another cluster: what was known of the last one is void. */
  cluster(controlPlaneId: string): string {
    return join(this.path, `cluster-${controlPlaneId}`);
  }

  /** The environment's secrets; made and written down, before anything can depend on them, when there are none. */
  async secrets(environment: string): Promise<Secrets> {
    const known = await this.#read<Secrets>("secrets.json");
    if (known) return known;
    const made = makeSecrets(environment);
    // States that were encrypted with what is lost are of no use; the cloud knows what was in them.
    for (const name of await this.#stages()) await rm(join(this.path, name), { recursive: true, force: true });
    await this.write("ssh-key", made.sshKey.privateKey);
    await this.write("secrets.json", JSON.stringify(made));
    return made;
  }

  /** What was asked for last time. */
  async choices(): Promise<Choices> {
    return (await this.#read<Choices>("choices.json")) ?? {};
  }

  async remember(choices: Choices): Promise<void> {
    await this.write("choices.json", JSON.stringify(choices));
  }

  /** Replaces a file in one step, readable for its owner only. */
  async write(name: string, text: string): Promise<void> {
    await mkdir(this.path, { recursive: true });
    await chmod(this.path, 0o700);
    const file = join(this.path, name);
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  /** Forgets clusters other than the one of this control plane. */
  async forgetOtherClusters(controlPlaneId: string): Promise<void> {
    const kept = ["cloud", `cluster-${controlPlaneId}`];
    const others = (await this.#stages()).filter((name) => !kept.includes(name));
    for (const name of others) await rm(join(this.path, name), { recursive: true, force: true });
  }

  /** Removes everything. The keys open nothing any more, and the states are empty. */
  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  /** Names of the folders in which stacks work. */
  async #stages(): Promise<readonly string[]> {
    if (!this.exists) return [];
    return (await readdir(this.path)).filter((name) => name === "cloud" || name.startsWith("cluster-"));
  }

  async #read<T>(name: string): Promise<T | undefined> {
    try {
      return JSON.parse(await readFile(join(this.path, name), "utf8")) as T;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }
}
