/** A stack in a Pulumi backend (`s3://`, `file://`, Pulumi Cloud …), into which mirrors are imported. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { PROJECT } from "../units/names.ts";
import { hideCredentials, withoutCredentials } from "./credentials.ts";
import { parseMirror, type StateStore } from "./mirror.ts";
import { cliEnvironment, type EngineHome, folders } from "./workspace.ts";

const run = promisify(execFile);
/** Variables in which backends look for credentials, and Pulumi Cloud for the organization. */
const CREDENTIALS =
  /^(AWS|AZURE|ARM|GOOGLE|GCLOUD|CLOUDSDK|PG)[A-Z0-9_]*$|^PULUMI_(ACCESS_TOKEN|DEFAULT_ORGANIZATION)$/;
/** Variables that lead to a backend behind a proxy, or with a certificate authority of its own. */
const NETWORK = /^(HTTPS?|NO)_PROXY$|^SSL_CERT_(FILE|DIR)$/i;

/** A command of `pulumi` that takes longer is ended: a backend that never answers must not hold up the end of the process. */
const LIMIT_MS = 60_000;
/** A lock of this age was left behind by a process that was killed: an import takes seconds. */
const ABANDONED_MS = 10 * 60_000;

/** Imports states with `pulumi stack import`. Backends cannot tell a stale writer; the leader's lease has to. */
export class RemoteState implements StateStore {
  readonly #home: EngineHome;
  readonly #url: string;
  readonly #environment: Readonly<Record<string, string>>;

  constructor(home: EngineHome, url: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#home = home;
    this.#url = url;
    const entries = Object.entries(environment).filter(
      ([name, value]) => (CREDENTIALS.test(name) || NETWORK.test(name)) && value !== undefined,
    );
    this.#environment = Object.fromEntries(entries) as Record<string, string>;
  }

  /** Creates the stack if it does not exist, or no longer does. */
  async save(text: string): Promise<void> {
    const folder = folders(this.#home).remote;
    const file = join(folder, "export.json");
    await writeFile(join(folder, "Pulumi.yaml"), `name: ${PROJECT}\nruntime: nodejs\n`);
    await writeFile(file, JSON.stringify(parseMirror(text)?.exported), { mode: 0o600 });
    await this.#pulumi("stack select", "--create");
    const save = () => this.#pulumi("stack import", "--file", file);
    await save().catch(async (error: unknown) => {
      if (!isAbandoned(String(error), Date.now())) throw error;
      await this.#pulumi("cancel", "--yes");
      await save();
    });
  }

  async #pulumi(command: string, ...args: readonly string[]): Promise<void> {
    const env = { ...cliEnvironment(this.#home), ...this.#environment, PULUMI_BACKEND_URL: this.#url };
    const all = [...command.split(" "), "--stack", this.#home.stack, ...args, "--non-interactive"];
    const limits = { timeout: LIMIT_MS, killSignal: "SIGKILL" } as const;
    try {
      await run(this.#home.pulumi, all, { cwd: folders(this.#home).remote, env, ...limits });
    } catch (error) {
      const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
      const place = withoutCredentials(this.#url);
      const message = `cannot save the state at ${place} (pulumi ${command}): ${output || "it was killed, or did not answer in time"}`;
      // Without its cause, which repeats the output of the program.
      throw new Error(hideCredentials(message, this.#url));
    }
  }
}

/** Whether the stack is locked, and all its locks are too old to be in use. */
function isAbandoned(message: string, now: number): boolean {
  if (!message.includes("currently locked")) return false;
  const times = [...message.matchAll(/ created by .* at (\S+)$/gm)].map(([, at = ""]) => Date.parse(at));
  return times.length > 0 && times.every((at) => now - at > ABANDONED_MS);
}
