/** A development environment's cloud half on a simulated cloud: the real engine and plugin, no machines. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cloud, type CloudOptions, startCloud } from "../../dev-env/cloud/cloud.ts";
import type { CloudOutputs, CloudSpec } from "../../dev-env/k3s/cloud.ts";
import { CloudApi } from "../../dev-env/k3s/cloud-api.ts";
import { applyCloud, type CloudStage, destroyCloud } from "../../dev-env/k3s/cloud-stage.ts";
import { type Choices, loadConfig } from "../../dev-env/k3s/config.ts";
import { Folder } from "../../dev-env/k3s/folder.ts";
import { Stage } from "../../dev-env/k3s/stage.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";

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
/** Of everything one, but a server per machine, with two addresses each. */
export const built = (servers: number) => ({
  ...NOTHING,
  servers,
  networks: 1,
  firewalls: 1,
  sshKeys: 1,
  placementGroups: 1,
  primaryIps: 2 * servers,
});

export class DevEnv implements AsyncDisposable {
  readonly cloud: Cloud;
  readonly directory: string;
  readonly folder: Folder;
  /** What the last run told, in order. */
  lines: string[] = [];
  readonly #api: CloudApi;

  constructor(cloud: Cloud, directory: string) {
    this.cloud = cloud;
    this.directory = directory;
    this.folder = new Folder(ENVIRONMENT, directory);
    this.#api = new CloudApi({ endpoint: cloud.url, token: cloud.token });
  }

  async spec(choices: Choices = {}): Promise<CloudSpec> {
    return {
      config: loadConfig({ name: ENVIRONMENT, ...choices }),
      secrets: await this.folder.secrets(ENVIRONMENT),
      polling: { pollInterval: "20ms", pollFunction: "constant" },
    };
  }

  /** As `dev-env up` does, up to the servers. */
  async up(choices: Choices = {}): Promise<CloudOutputs> {
    return applyCloud(await this.open(), await this.spec(choices));
  }

  /** As `dev-env down` does, when there is no cluster to talk to. */
  async down(): Promise<void> {
    await destroyCloud(await this.open());
  }

  async open(): Promise<CloudStage> {
    const { paths, pulumiHome } = await ensureToolchain(["pulumi", "pulumi-resource-hcloud"]);
    const { passphrase } = await this.folder.secrets(ENVIRONMENT);
    this.lines = [];
    const stackName = `${ENVIRONMENT}-cloud`;
    const stage = await Stage.open({
      home: {
        pulumi: paths.pulumi,
        plugins: join(pulumiHome, "plugins"),
        directory: this.folder.cloud,
        isScratch: false,
        stack: stackName,
      },
      passphrase,
      env: { HCLOUD_TOKEN: this.cloud.token, HCLOUD_ENDPOINT: this.cloud.url },
      onStep: (line, isDone) => {
        if (isDone) this.lines.push(line);
      },
    });
    return { environment: ENVIRONMENT, stackName, stage, read: this.#api.list };
  }

  /** How many resources of each kind the cloud has. */
  counts() {
    const { servers, networks, firewalls, sshKeys, placementGroups, primaryIps, loadBalancers, certificates } =
      this.cloud.state;
    const views = { servers, networks, firewalls, sshKeys, placementGroups, primaryIps, loadBalancers, certificates };
    return Object.fromEntries(Object.entries(views).map(([name, view]) => [name, view.size]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#api[Symbol.dispose]();
    await this.cloud.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Starts a cloud; nothing is in it. */
export async function startDevEnv(options: CloudOptions = {}): Promise<DevEnv> {
  const cloud = await startCloud({ rateLimit: "off", actionMs: 20, ...options });
  return new DevEnv(cloud, await mkdtemp(join(tmpdir(), "lotse-dev-env-")));
}
