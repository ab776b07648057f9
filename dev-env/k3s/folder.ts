/** The folder in which an environment's keys, kubeconfig, choices and states are kept. Only its owner may look inside. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Choices } from "./config.ts";
import { makeSecrets, type Secrets } from "./secrets.ts";

/** Where environments are kept, unless somebody says otherwise. Ignored by git. */
export const STATE_DIRECTORY = fileURLToPath(new URL(".state", import.meta.url));

export class Folder {
  readonly path: string;

  constructor(environment: string, base = STATE_DIRECTORY) {
    this.path = join(base, environment);
  }

  /** True when there is, or may be, something of the environment. */
  get exists(): boolean {
    return existsSync(this.path);
  }

  get kubeconfig(): string {
    return join(this.path, "kubeconfig");
  }

  get sshKey(): string {
    return join(this.path, "ssh-key");
  }

  get knownHosts(): string {
    return join(this.path, "known-hosts");
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
    const kept = `cluster-${controlPlaneId}`;
    const others = (await readdir(this.path)).filter((name) => name.startsWith("cluster-") && name !== kept);
    for (const name of others) await rm(join(this.path, name), { recursive: true, force: true });
  }

  /** Removes everything. The keys open nothing any more, and the states are empty. */
  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
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
