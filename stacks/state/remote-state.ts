/** State in a self-managed Pulumi backend, such as `s3://` or `file://`, accessed with `pulumi stack`. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { PROJECT } from "../units/names.ts";
import type { StateStore } from "./state-store.ts";
import { cliEnvironment, type EngineHome, folders } from "./workspace.ts";

const run = promisify(execFile);
const MAX_STATE_BYTES = 512 * 1024 * 1024;
/** Variables in which backends look for credentials. */
const CREDENTIALS = /^(AWS|AZURE|ARM|GOOGLE|GCLOUD|CLOUDSDK|PG)[A-Z0-9_]*$/;

interface Deployment {
  readonly version: number;
  readonly deployment: object;
}

/** Exports and imports the stack of the backend. */
export class RemoteState implements StateStore {
  readonly #home: EngineHome;
  readonly #url: string;
  readonly #credentials: Readonly<Record<string, string>>;

  constructor(home: EngineHome, url: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#home = home;
    this.#url = url;
    const entries = Object.entries(environment).filter(
      ([name, value]) => CREDENTIALS.test(name) && value !== undefined,
    );
    this.#credentials = Object.fromEntries(entries) as Record<string, string>;
  }

  /** Creates the stack if it does not exist. */
  async load(): Promise<string | undefined> {
    await writeFile(join(folders(this.#home).remote, "Pulumi.yaml"), `name: ${PROJECT}\nruntime: nodejs\n`);
    await this.#pulumi("stack", "select", "--create", "--stack", this.#home.stack);
    const { version, deployment } = JSON.parse(
      await this.#pulumi("stack", "export", "--stack", this.#home.stack),
    ) as Deployment;
    return JSON.stringify({ version, checkpoint: { stack: this.#home.stack, latest: deployment } });
  }

  async save(text: string): Promise<void> {
    const { version, checkpoint } = JSON.parse(text) as { version: number; checkpoint: { latest: object } };
    const file = join(folders(this.#home).remote, "export.json");
    await writeFile(file, JSON.stringify({ version, deployment: checkpoint.latest }), { mode: 0o600 });
    await this.#pulumi("stack", "import", "--stack", this.#home.stack, "--file", file);
  }

  async #pulumi(...args: readonly string[]): Promise<string> {
    const env = { ...cliEnvironment(this.#home), ...this.#credentials, PULUMI_BACKEND_URL: this.#url };
    const options = { cwd: folders(this.#home).remote, env, maxBuffer: MAX_STATE_BYTES };
    try {
      return (await run(this.#home.pulumi, [...args, "--non-interactive"], options)).stdout;
    } catch (error) {
      const detail = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
      throw new Error(
        `cannot access the state at ${withoutSecrets(this.#url)} (pulumi ${args.slice(0, 2).join(" ")}): ${detail}`,
        { cause: error },
      );
    }
  }
}

/** A backend URL without user, password and query, for messages. */
function withoutSecrets(url: string): string {
  return url.replace(/\/\/[^/@]*@/, "//").replace(/\?.*$/, "");
}
