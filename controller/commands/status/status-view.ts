/** The status of a cluster as data, which is also the JSON output. Pure. */
import type { V1Node } from "@kubernetes/client-node";
import type { PendingPlan } from "../../guard/approval.ts";
import type { Plan } from "../../guard/plan.ts";
import type { LoadBalancer } from "../../hcloud/api.ts";
import type { LeaseObject } from "../../kube/lease.ts";
import type { ControllerStatus } from "../../record/status-board.ts";
import type { Rendered, Snapshot } from "../../render/cluster.ts";
import type { ServiceIntent } from "../../render/intents.ts";
import { isReady } from "../../render/node/lifecycle.ts";
import { findServer } from "../../render/node/metadata.ts";
import { parseProviderId } from "../../render/node/provider-id.ts";
import { type Refusal, refusalsOf } from "../../render/refusals.ts";
import { serviceName } from "../../render/service/ownership/ours.ts";

/** A Node and its server. */
export interface NodeStatus {
  readonly name: string;
  readonly isReady: boolean;
  readonly isInitialised: boolean;
  /** Its server in words: type, location and state. */
  readonly server: string;
  readonly addresses: readonly string[];
}

/** The load balancer of a Service. */
export interface BalancerStatus {
  readonly service: string;
  readonly state: "ready" | "to be made" | "to be changed" | "to be deleted" | "refused";
  readonly id?: number;
  readonly type?: string;
  readonly addresses: readonly string[];
  readonly targets: { readonly healthy: number; readonly total: number };
}

/** Everything that `lotse status` shows. */
export interface ClusterStatus {
  readonly cluster: string;
  /** Absent without a leader, or when leader election is off. */
  readonly leader?: { readonly holder: string; readonly renewed: string };
  readonly nodes: readonly NodeStatus[];
  readonly balancers: readonly BalancerStatus[];
  readonly routes?: { readonly wanted: number; readonly toChange: number };
  /** Number of units that the next run would change. */
  readonly changes: number;
  readonly refused: readonly Refusal[];
  readonly heldBack?: string;
  readonly pending?: PendingPlan;
  readonly lastRun?: ControllerStatus["lastRun"];
  readonly budget: { readonly remaining: number; readonly limit: number };
}

interface StatusInput {
  readonly cluster: string;
  readonly snapshot: Snapshot;
  readonly rendered: Rendered;
  readonly plan: Plan;
  readonly heldBack?: string;
  readonly lease?: LeaseObject;
  readonly pending?: PendingPlan;
  readonly controller?: ControllerStatus;
  readonly budget: ClusterStatus["budget"];
}

/** Renders the status. */
export function renderStatus(input: StatusInput): ClusterStatus {
  const { cluster, snapshot, rendered, plan, heldBack, lease, pending, controller, budget } = input;
  const holder = lease?.spec?.holderIdentity;
  const routes = rendered.routes && {
    wanted: rendered.routes.wanted.length,
    toChange: plan.filter(({ unit }) => unit.startsWith("route/")).length,
  };
  return {
    cluster,
    ...(holder && { leader: { holder, renewed: lease?.spec?.renewTime ?? "" } }),
    nodes: snapshot.nodes.map((node) => nodeStatus(node, snapshot)),
    balancers: rendered.services.map((intent) => balancerStatus(intent, snapshot, input)),
    ...(routes && { routes }),
    changes: plan.length,
    refused: refusalsOf(rendered),
    ...(heldBack !== undefined && { heldBack }),
    ...(pending && { pending }),
    ...(controller?.lastRun && { lastRun: controller.lastRun }),
    budget: { remaining: Math.floor(budget.remaining), limit: budget.limit },
  };
}

function nodeStatus(node: V1Node, { cloud }: Snapshot): NodeStatus {
  const server = findServer(node, cloud.servers);
  const { kind } = parseProviderId(node.spec?.providerID);
  const words = server
    ? `${server.server_type.name} in ${server.location.name}, ${server.status}`
    : "none in this project";
  return {
    name: node.metadata?.name ?? "",
    isReady: isReady(node),
    isInitialised: kind !== "none",
    server: kind === "robot" ? "dedicated" : words,
    addresses: (node.status?.addresses ?? []).filter(({ type }) => /IP$/.test(type)).map(({ address }) => address),
  };
}

function balancerStatus(intent: ServiceIntent, { cloud }: Snapshot, { rendered, plan }: StatusInput): BalancerStatus {
  const state = rendered.existing[intent.unit];
  const balancer = state?.kind === "load-balancer" ? cloud.loadBalancers.find(({ id }) => id === state.id) : undefined;
  return {
    service: serviceName(intent.service),
    state: stateOf(intent, plan, balancer !== undefined),
    ...(balancer && { id: balancer.id, type: balancer.load_balancer_type.name }),
    addresses: balancer ? addressesOf(balancer) : [],
    targets: healthOf(balancer),
  };
}

function stateOf({ kind, unit }: ServiceIntent, plan: Plan, exists: boolean): BalancerStatus["state"] {
  if (kind === "refused") return "refused";
  if (kind === "retire") return "to be deleted";
  if (!plan.some((step) => step.unit === unit)) return "ready";
  return exists ? "to be changed" : "to be made";
}

function addressesOf({ public_net, private_net }: LoadBalancer): readonly string[] {
  const all = [public_net.enabled ? public_net.ipv4.ip : undefined, ...private_net.map(({ ip }) => ip)];
  return all.filter((ip) => typeof ip === "string");
}

interface WithHealth {
  readonly health_status?: readonly { readonly status: string }[];
}

/** A target is healthy when it is healthy on every port. */
function healthOf(balancer: LoadBalancer | undefined): BalancerStatus["targets"] {
  const targets = (balancer?.targets ?? []) as readonly WithHealth[];
  const isHealthy = ({ health_status: ports = [] }: WithHealth) =>
    ports.length > 0 && ports.every(({ status }) => status === "healthy");
  return { healthy: targets.filter(isHealthy).length, total: targets.length };
}
