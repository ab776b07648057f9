/** The common start of all commands: configuration, connections to cluster and cloud, and the plan for a snapshot. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { V1Node, V1Secret, V1Service } from "@kubernetes/client-node";
import type { StackOutputs } from "../../stacks/units/outputs.ts";
import { renderOptions } from "../app/assemble.ts";
import { type CloudPorts, openCloud } from "../app/assemble-cloud.ts";
import { type Config, type Environment, loadClusterConfig, loadConfig } from "../config/config.ts";
import type { FlagValues } from "../config/flags.ts";
import { ifAllowed } from "../diagnostics/errors.ts";
import { createLogger, type Logger } from "../diagnostics/log.ts";
import { guard, holdTargets } from "../guard/guard.ts";
import { assess, type Plan } from "../guard/plan.ts";
import type { Ages } from "../hcloud/reader.ts";
import { KubeClient } from "../kube/client.ts";
import { OwnConfigMap } from "../kube/config-map.ts";
import { listAll } from "../kube/informer.ts";
import { loadAccess } from "../kube/kubeconfig.ts";
import { paths } from "../kube/paths.ts";
import { requirePlausible } from "../observe/observe.ts";
import { parseStatus, STATUS } from "../record/status-board.ts";
import type { SecretList } from "../render/certificate/tls-secret.ts";
import type { Rendered, Snapshot } from "../render/cluster.ts";
import { decideNode } from "../render/node/metadata.ts";
import { nodeOutputs, unitOutputs } from "../render/outputs.ts";
import type { RobotInventory } from "../robot/api.ts";
import { placeOf } from "./output.ts";

/** Passes the flags of `lotse stack` to the program of a plain `pulumi preview`, as JSON. */
export const FLAGS_VARIABLE = "LOTSE_PREVIEW_FLAGS";

const NO_ROBOTS: RobotInventory = { kind: "off" };
/** Reads everything from the API. */
const FRESH: Ages = { servers: 0, loadBalancers: 0, certificates: 0, network: 0 };

/** The configuration of a command. */
export type CommandConfig = Config & {
  /** The same with these pod ranges. Absent when they were given, or no routes are managed. */
  readonly withRanges?: (cidrs: string) => Config;
};

/** The controller's configuration, with kubectl's default kubeconfig and the command's `--namespace`. */
export function commandConfig(flags: FlagValues, env: Environment = process.env): CommandConfig {
  const config = loadConfig(...asController(flags, env));
  if (flags["cluster-cidr"] !== undefined || config.network === undefined) return config;
  const withRanges = (cidrs: string) => loadConfig(...asController({ ...flags, "cluster-cidr": cidrs }, env));
  const hasRoutes = withRanges("0.0.0.0/0").clusterCidrs.length > 0;
  return hasRoutes ? { ...config, withRanges } : config;
}

function asController(flags: FlagValues, env: Environment): [FlagValues, Environment] {
  return [
    { ...flags, kubeconfig: textOf(flags.kubeconfig) ?? kubeconfigOf(env) },
    { ...env, POD_NAMESPACE: textOf(flags.namespace) ?? env.POD_NAMESPACE },
  ];
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
export type Session = Awaited<ReturnType<typeof open>>;

/** Observers of the connections, and where messages go. */
export interface OpenOptions extends CloudPorts {
  /** By default, messages from `level` up are logged to standard error, as text. */
  readonly log?: Logger;
  readonly level?: "warn" | "error";
}

/** Connects to cluster and cloud. */
export async function open(given: CommandConfig, { level = "warn", log: own, ...ports }: OpenOptions = {}) {
  await using opened = new AsyncDisposableStack();
  const log = own ?? (await createLogger({ format: "text", level }));
  const { gateway, reader, view, networkId, robot } = await openCloud(given, log, opened, ports);
  const access = await loadAccess(given.kubeconfig, given);
  const client = new KubeClient(access);
  opened.defer(() => client.close());
  const ranges = given.withRanges && (await publishedRanges(client, given));
  const config = (ranges && given.withRanges?.(ranges)) || given;
  /** What the command cannot show. */
  const notes =
    given.withRanges && ranges === undefined ? ["routes are not shown: pass --cluster-cidr as for the controller"] : [];
  const options = renderOptions(config, networkId);
  /** Takes a snapshot, by default from fresh lists. Throws when the lists contradict each other. */
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
  /** The outputs of the stack, from a snapshot and what was rendered from it. */
  const outputs = async ({ nodes, cloud }: Snapshot, rendered: Rendered): Promise<StackOutputs> => {
    const inventory = { servers: cloud.servers, robots: (await robot?.inventory()) ?? NO_ROBOTS };
    const decided = nodes.map((node) => ({ node, verdict: decideNode(node, inventory, options) }));
    return { schemaVersion: 1, ...unitOutputs(rendered), ...nodeOutputs(decided) };
  };
  const place = placeOf(config.clusterName, access);
  const { namespace = "default" } = access;
  const ends = opened.move();
  const close = { [Symbol.asyncDispose]: () => ends.disposeAsync() };
  return { config, place, namespace, client, gateway, reader, options, log, notes, ends, observe, outputs, ...close };
}

/** The pod ranges that the last controller published in its status; undefined when they are unknown. */
async function publishedRanges(client: KubeClient, config: Config): Promise<string | undefined> {
  const board = await ifAllowed(new OwnConfigMap(client, config, "status").read()); // a reader may lack this right
  return parseStatus(board?.[STATUS])?.clusterCidrs?.join(",");
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
  readonly heldBack?: string | undefined;
}

/** Plans as the controller does. Pure. */
export function planOf(snapshot: Snapshot, { config, options }: Pick<Session, "config" | "options">): ClusterPlan {
  const situation = holdTargets(assess(snapshot, options), snapshot.nodes, config.guard);
  const { plan, stopped } = guard(situation, config.guard);
  return { snapshot, rendered: situation.rendered, plan, heldBack: stopped };
}

/** An open connection to the cluster only, for commands that need no Hetzner token. */
export type ClusterAccess = Awaited<ReturnType<typeof openAccess>>;

/** Connects to the cluster only. */
export async function openAccess(flags: FlagValues) {
  const { kubeconfig, clusterName, namespace, ...overrides } = loadClusterConfig(...asController(flags, process.env));
  const access = await loadAccess(kubeconfig, overrides);
  const client = new KubeClient(access);
  const place = placeOf(clusterName, access);
  return { client, place, namespace, clusterName, [Symbol.dispose]: () => client.close() };
}
