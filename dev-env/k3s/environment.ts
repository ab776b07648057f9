/** What every command works with: what to build, where it is kept, how the cloud is reached, and whom to tell. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { KubeClient } from "../../controller/kube/client.ts";
import { loadAccess } from "../../controller/kube/kubeconfig.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { type CloudAccess, CloudApi } from "./cloud-api.ts";
import type { CloudStage } from "./cloud-stage.ts";
import type { EnvironmentConfig } from "./config.ts";
import type { Folder } from "./folder.ts";
import type { Screen } from "./screen.ts";
import { Stage } from "./stage.ts";

export interface Environment {
  readonly config: EnvironmentConfig;
  readonly folder: Folder;
  readonly access: CloudAccess;
  readonly screen: Screen;
  readonly tools: Pick<Toolchain, "paths" | "pulumiHome">;
  /** Fires when somebody wants to stop. */
  readonly signal: AbortSignal;
}

/** A stage of the environment, told on the screen; it stops in good order when somebody wants to stop. */
export async function openStage(env: Environment, stack: string, directory: string): Promise<Stage> {
  const { folder, config, access, tools, screen, signal } = env;
  const { passphrase } = await folder.secrets(config.name);
  return Stage.open({
    signal,
    home: {
      pulumi: tools.paths.pulumi,
      plugins: join(tools.pulumiHome, "plugins"),
      directory,
      isScratch: false,
      stack,
    },
    passphrase,
    env: { ...networkSettings(process.env), HCLOUD_TOKEN: access.token, HCLOUD_ENDPOINT: access.endpoint },
    onStep: (line, isDone) => {
      if (isDone) screen.say("pulumi", line);
    },
  });
}

/** The first stage, with a way to look at the cloud. `uids` are those of Services whose balancers are ours. */
export async function openCloudStage(env: Environment, uids: readonly string[] = []): Promise<CloudStage> {
  const { config, folder, access } = env;
  const stackName = `${config.name}-cloud`;
  const api = new CloudApi(access);
  return {
    environment: config.name,
    stackName,
    stage: await openStage(env, stackName, folder.cloud),
    read: api.list,
    uids,
  };
}

/** A client of the cluster; nothing when there is no kubeconfig yet. `timeoutMs` bounds every request. */
export async function openCluster(
  { folder }: Pick<Environment, "folder">,
  timeoutMs = 10_000,
): Promise<KubeClient | undefined> {
  return existsSync(folder.kubeconfig) ? new KubeClient(await loadAccess(folder.kubeconfig), { timeoutMs }) : undefined;
}

/** Variables that say how this machine reaches the internet: programs that we start get no others. */
export function networkSettings(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const names = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE"];
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
