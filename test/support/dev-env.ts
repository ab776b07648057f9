/** The machines of a development environment on a simulated cloud: the real engine and plugin, no servers. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cloud, type CloudOptions, startCloud } from "../../dev-env/cloud/cloud.ts";
import { destroyMachines } from "../../dev-env/k3s/down.ts";
import { type Environment, Folder, openStack } from "../../dev-env/k3s/environment.ts";
import { type Choices, parseSettings } from "../../dev-env/k3s/settings.ts";
import { applyMachines, configureMachines, type MachineOutputs } from "../../dev-env/k3s/up.ts";
import { ProjectApi } from "../../dev-env/project/api.ts";
import { Screen } from "../../dev-env/terminal/screen.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { changeCloud } from "./change-cloud.ts";

export const ENVIRONMENT = "dev";

/** An empty project. */
export const NOTHING = {
  servers: 0,
  networks: 0,
  firewalls: 0,
  sshKeys: 0,
  placementGroups: 0,
  primaryIps: 0,
  loadBalancers: 0,
  certificates: 0,
};

/** One of everything, but a server per machine with two addresses each, and a placement group per pool. */
export const built = (servers: number, given: Partial<typeof NOTHING> = {}) => ({
  ...NOTHING,
  servers,
  networks: 1,
  firewalls: 1,
  sshKeys: 1,
  placementGroups: 2,
  primaryIps: 2 * servers,
  ...given,
});

export class DevEnv implements AsyncDisposable {
  readonly cloud: Cloud;
  readonly directory: string;
  readonly folder: Folder;
  /** Steps of the last run. */
  lines: string[] = [];
  readonly #api: ProjectApi;

  constructor(cloud: Cloud, directory: string) {
    this.cloud = cloud;
    this.directory = directory;
    this.folder = new Folder(ENVIRONMENT, directory);
    this.#api = new ProjectApi(this.access, "dev-env");
  }

  get access() {
    return { endpoint: this.cloud.url, token: this.cloud.token };
  }

  /** A server of the cloud by its name. */
  server(name: string) {
    return this.cloud.state.servers.find(name);
  }

  /** What cloud-init reads at the first boot of a server. */
  async userData(name: string): Promise<string> {
    const response = await fetch(new URL(`/_metadata/${name}/hetzner/v1/userdata`, this.cloud.url));
    return response.text();
  }

  /** Changes the cloud directly, as a person would by hand. */
  async change(method: string, path: string, body?: object): Promise<void> {
    await changeCloud(this.cloud, method, path, body);
  }

  /** As in a command with these settings. */
  async environment(choices: Choices = {}, signal = new AbortController().signal): Promise<Environment> {
    const tools = await ensureToolchain(["pulumi", "pulumi-language-nodejs", "pulumi-resource-hcloud"]);
    const settings = parseSettings({ ...this.folder.choices(), ...choices });
    this.lines = [];
    const screen = new Screen({
      write: (line) => this.lines.push(line.replace(/^ *[\d.]+ s +pulumi +/, "").trimEnd()),
    });
    const variables = { ...process.env, HCLOUD_TOKEN: this.access.token, HCLOUD_ENDPOINT: this.access.endpoint };
    const project = { api: this.#api, variables };
    return { name: ENVIRONMENT, settings, choices, folder: this.folder, ...project, screen, tools, signal };
  }

  /** Like `dev-env up`, without the cluster on the machines. */
  async up(choices: Choices = {}, signal?: AbortSignal): Promise<MachineOutputs> {
    const env = await this.environment(choices, signal);
    const stack = await configureMachines(env, choices);
    await stack.configure({ "hcloud:pollInterval": "20ms" });
    return applyMachines(env, stack);
  }

  /** Like `dev-env down`, without a cluster. Refuses to remove what the state does not know, unless it is agreed. */
  async down(isAgreed = false): Promise<void> {
    const confirm = async (unknown: string) => {
      if (!isAgreed) throw new Error(`not agreed: ${unknown}`);
    };
    const env = await this.environment();
    await destroyMachines(env, await openStack(env, "lotse-dev-env"), confirm);
  }

  /** Number of resources of each kind in the cloud. */
  counts() {
    const kinds = Object.keys(NOTHING) as (keyof typeof NOTHING)[];
    return Object.fromEntries(kinds.map((kind) => [kind, this.cloud.state[kind].size]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#api[Symbol.dispose]();
    await this.cloud.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Starts an empty cloud. */
export async function startDevEnv(options: CloudOptions = {}): Promise<DevEnv> {
  const cloud = await startCloud({ rateLimit: "off", actionMs: 20, ...options });
  return new DevEnv(cloud, await mkdtemp(join(tmpdir(), "lotse-dev-env-")));
}
