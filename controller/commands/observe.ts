/** What a command sees: the cluster and the cloud at one moment. Nothing is written on the way. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { V1Node, V1Secret, V1Service } from "@kubernetes/client-node";
import { renderOptions } from "../assemble.ts";
import { type CloudPorts, openCloud } from "../assemble-cloud.ts";
import type { SecretList } from "../certificate/tls-secret.ts";
import type { RenderOptions, Snapshot } from "../cluster/desired.ts";
import { requirePlausible } from "../cluster/plausible.ts";
import { type Config, type Environment, loadConfig } from "../config.ts";
import type { FlagValues } from "../flags.ts";
import type { Gateway } from "../hcloud/gateway.ts";
import type { Ages } from "../hcloud/view.ts";
import { KubeClient, paths } from "../kube/client.ts";
import { loadAccess } from "../kube/kubeconfig.ts";
import { listAll } from "../kube/list.ts";
import type { Logger } from "../log.ts";

/** Carries the flags of `lotse stack` to the program of a plain `pulumi preview`, as JSON. */
export const FLAGS_VARIABLE = "LOTSE_PREVIEW_FLAGS";

export interface Sight {
  readonly client: KubeClient;
  readonly gateway: Gateway;
  readonly snapshot: Snapshot;
  readonly options: RenderOptions;
}

/** The configuration of a command on somebody's machine: as the controller's, with the kubeconfig that kubectl would take. */
export function commandConfig(flags: FlagValues, env: Environment): Config {
  return loadConfig({ ...flags, kubeconfig: flags.kubeconfig ?? kubeconfigOf(env) }, env);
}

/** The kubeconfig that kubectl would take; nothing in a pod that has none. */
export function kubeconfigOf(env: Environment): string | undefined {
  const [named] = (env.KUBECONFIG ?? "").split(delimiter);
  if (named) return named;
  const usual = join(env.HOME || homedir(), ".kube", "config");
  return env.KUBERNETES_SERVICE_HOST || !existsSync(usual) ? undefined : usual;
}

/** A way to look at cluster and cloud, as often as one likes. */
export interface Outlook extends Omit<Sight, "snapshot"> {
  look(ages: Ages): Promise<Snapshot>;
}

export async function openOutlook(
  config: Config,
  log: Logger,
  ends: AsyncDisposableStack,
  ports: CloudPorts = {},
): Promise<Outlook> {
  const { gateway, view, networkId } = await openCloud(config, log, ends, ports);
  const client = new KubeClient(await loadAccess(config.kubeconfig, config.master));
  ends.defer(() => client.close());
  const look = async (ages: Ages): Promise<Snapshot> => {
    const [nodes, services, secrets, cloud] = await Promise.all([
      listAll<V1Node>(client, paths.nodes),
      config.loadBalancers ? listAll<V1Service>(client, paths.services) : [],
      listSecrets(client, config),
      view.state(ages),
    ]);
    requirePlausible(cloud, nodes);
    return { nodes, services, secrets, cloud, now: Date.now() };
  };
  return { client, gateway, options: renderOptions(config, networkId), look };
}

/** Everything as it is now. */
export const FRESH: Ages = { servers: 0, loadBalancers: 0, certificates: 0, network: 0 };

/** Everything that rendering needs, fresh. */
export async function observe(config: Config, log: Logger, ends: AsyncDisposableStack): Promise<Sight> {
  const { look, ...outlook } = await openOutlook(config, log, ends);
  return { ...outlook, snapshot: await look(FRESH) };
}

async function listSecrets(client: KubeClient, { tlsSecrets }: Config): Promise<readonly SecretList[]> {
  if (!tlsSecrets) return [];
  const list = (namespace?: string) => listAll<V1Secret>(client, paths.tlsSecrets(namespace));
  const { namespaces } = tlsSecrets;
  if (!namespaces) return [{ secrets: await list() }];
  return Promise.all(namespaces.map(async (namespace) => ({ namespace, secrets: await list(namespace) })));
}
