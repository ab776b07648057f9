/** The common start of all commands: configuration, connections to cluster and cloud, and the plan for a snapshot. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { V1Node, V1Secret, V1Service } from "@kubernetes/client-node";
import type { StackOutputs } from "../../stacks/units/outputs.ts";
import { renderOptions } from "../app/assemble.ts";
import { type CloudPorts, openCloud } from "../app/assemble-cloud.ts";
import { type Config, type Environment, loadConfig } from "../config/config.ts";
import { clusterName } from "../config/flag-values.ts";
import type { FlagValues } from "../config/flags.ts";
import { ConfigError } from "../diagnostics/errors.ts";
import { createLogger, type Logger } from "../diagnostics/log.ts";
import { guard, holdTargets } from "../guard/guard.ts";
import { assess, type Plan } from "../guard/plan.ts";
import type { Gateway } from "../hcloud/gateway.ts";
import type { Ages } from "../hcloud/reader.ts";
import { KubeClient } from "../kube/client.ts";
import { loadAccess } from "../kube/kubeconfig.ts";
import { listAll } from "../kube/list.ts";
import { paths } from "../kube/paths.ts";
import { requirePlausible } from "../observe/observe.ts";
import type { SecretList } from "../render/certificate/tls-secret.ts";
import type { Rendered, RenderOptions, Snapshot } from "../render/cluster.ts";
import { decideNode } from "../render/node/metadata.ts";
import { nodeOutputs, unitOutputs } from "../render/outputs.ts";
import type { RobotInventory } from "../robot/api.ts";
import { type Place, placeOf } from "./place.ts";

/** Passes the flags of `lotse stack` to the program of a plain `pulumi preview`, as JSON. */
export const FLAGS_VARIABLE = "LOTSE_PREVIEW_FLAGS";

const NO_ROBOTS: RobotInventory = { kind: "off" };
/** Reads everything from the API. */
const FRESH: Ages = { servers: 0, loadBalancers: 0, certificates: 0, network: 0 };

/** The controller's configuration, with kubectl's default kubeconfig and the command's `--namespace`. */
export function commandConfig(flags: FlagValues, env: Environment): Config {
  const config = loadConfig({ ...flags, kubeconfig: flags.kubeconfig ?? kubeconfigOf(env) }, env);
  return { ...config, namespace: textOf(flags.namespace) ?? config.namespace };
}

/** The kubeconfig, or list of them, that kubectl would use; undefined in a pod that has none. */
function kubeconfigOf(env: Environment): string | undefined {
  if (env.KUBECONFIG) return env.KUBECONFIG;
  const usual = join(env.HOME || homedir(), ".kube", "config");
  return env.KUBERNETES_SERVICE_HOST || !existsSync(usual) ? undefined : usual;
}

/** The value of a flag; undefined when it is absent or empty. */
export function textOf(value: FlagValues[string]): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Open connections to cluster and cloud. Disposal closes them and everything added to `ends`. */
export interface Session extends AsyncDisposable {
  readonly config: Config;
  readonly place: Place;
  readonly client: KubeClient;
  readonly gateway: Gateway;
  readonly options: RenderOptions;
  readonly log: Logger;
  readonly ends: AsyncDisposableStack;
  /** Takes a snapshot, by default from fresh lists. Throws when the lists contradict each other. */
  observe(ages?: Ages): Promise<Snapshot>;
  /** The outputs of the stack, from a snapshot and what was rendered from it. */
  outputs(snapshot: Snapshot, rendered: Rendered): Promise<StackOutputs>;
}

/** Connects to cluster and cloud. Messages from `level` up are logged to standard error. */
export async function open(
  config: Config,
  { level = "warn", ...ports }: CloudPorts & { readonly level?: "warn" | "error" } = {},
): Promise<Session> {
  await using opened = new AsyncDisposableStack();
  const log = await createLogger({ format: "text", level });
  const { gateway, view, networkId, robot } = await openCloud(config, log, opened, ports);
  const access = await loadAccess(config.kubeconfig, config);
  const client = new KubeClient(access);
  opened.defer(() => client.close());
  const observe = async (ages = FRESH): Promise<Snapshot> => {
    const [nodes, services, secrets, cloud] = await Promise.all([
      listAll<V1Node>(client, paths.nodes),
      config.loadBalancers ? listAll<V1Service>(client, paths.services) : [],
      listSecrets(client, config),
      view.state(ages),
    ]);
    requirePlausible(cloud, nodes);
    return { nodes, services, secrets, cloud, now: Date.now() };
  };
  const options = renderOptions(config, networkId);
  const outputs = async ({ nodes, cloud }: Snapshot, rendered: Rendered): Promise<StackOutputs> => {
    const inventory = { servers: cloud.servers, robots: (await robot?.inventory()) ?? NO_ROBOTS };
    const decided = nodes.map((node) => ({ node, verdict: decideNode(node, inventory, options) }));
    return { schemaVersion: 1, ...unitOutputs(rendered), ...nodeOutputs(decided) };
  };
  const ends = opened.move();
  const place = placeOf(config.clusterName, access);
  return {
    config,
    place,
    client,
    gateway,
    options,
    log,
    ends,
    observe,
    outputs,
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}

async function listSecrets(client: KubeClient, { tlsSecrets }: Config): Promise<readonly SecretList[]> {
  if (!tlsSecrets) return [];
  const list = (namespace?: string) => listAll<V1Secret>(client, paths.tlsSecrets(namespace));
  const { namespaces } = tlsSecrets;
  if (!namespaces) return [{ secrets: await list() }];
  return Promise.all(namespaces.map(async (namespace) => ({ namespace, secrets: await list(namespace) })));
}

/** A snapshot, and what the controller would change. */
export interface ClusterPlan {
  readonly snapshot: Snapshot;
  readonly rendered: Rendered;
  readonly plan: Plan;
  /** Why the guard holds back removals, if it does. */
  readonly heldBack?: string;
}

/** Plans as the controller does. Pure. */
export function planOf(snapshot: Snapshot, { config, options }: Pick<Session, "config" | "options">): ClusterPlan {
  const situation = holdTargets(assess(snapshot, options), snapshot.nodes, config.guard);
  const { plan, stopped } = guard(situation, config.guard);
  return { snapshot, rendered: situation.rendered, plan, ...(stopped !== undefined && { heldBack: stopped }) };
}

/** An open connection to the cluster only, for commands that need no Hetzner token. */
interface ClusterAccess extends Disposable {
  readonly client: KubeClient;
  readonly place: Place;
  readonly namespace: string;
  readonly clusterName: string;
}

/** Connects to the cluster only. */
export async function openAccess(flags: FlagValues, env: Environment): Promise<ClusterAccess> {
  const name = textOf(flags["cluster-name"]) ?? "kubernetes";
  const parsed = clusterName(name);
  if (!("value" in parsed)) throw new ConfigError([`--cluster-name: ${JSON.stringify(name)} is not ${parsed.allowed}`]);
  const kubeconfig = textOf(flags.kubeconfig) ?? kubeconfigOf(env);
  const overrides = { master: textOf(flags.master), context: textOf(flags.context) };
  const access = await loadAccess(kubeconfig, overrides);
  const client = new KubeClient(access);
  const place = placeOf(parsed.value, access);
  const namespace = textOf(flags.namespace) ?? env.POD_NAMESPACE ?? "kube-system";
  return { client, place, namespace, clusterName: parsed.value, [Symbol.dispose]: () => client.close() };
}
