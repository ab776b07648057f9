/** The status of a cluster as data, which is also the JSON output. Pure. */
import type { V1Node } from "@kubernetes/client-node";
import { defined } from "../../../stacks/units/defined.ts";
import type { Plan } from "../../guard/plan.ts";
import type { LoadBalancer, LoadBalancerTarget } from "../../hcloud/api.ts";
import type { LeaseObject } from "../../kube/lease.ts";
import type { ControllerStatus } from "../../record/status-board.ts";
import type { Snapshot } from "../../render/cluster.ts";
import { type BalanceIntent, balancerIn, type ServiceIntent } from "../../render/intents.ts";
import { isReady } from "../../render/node/lifecycle.ts";
import { findServer } from "../../render/node/metadata.ts";
import { parseProviderId } from "../../render/node/provider-id.ts";
import { type Refusal, refusalsOf } from "../../render/refusals.ts";
import { serviceName } from "../../render/service/ours.ts";
import { holderOf } from "../departure/sole-writer.ts";
import type { ClusterPlan } from "../open.ts";
import type { Place } from "../output.ts";
import { eventNotes } from "../preview/event-notes.ts";

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
  readonly state: "ready" | "degraded" | "to be created" | "to be changed" | "to be deleted" | "to be kept" | "refused";
  /** Why it does not serve everything that the Service asks for, although nothing is left to change. */
  readonly problems: readonly string[];
  readonly id?: number;
  readonly type?: string;
  readonly addresses: readonly string[];
  readonly targets: { readonly healthy: number; readonly total: number };
}

/** Everything that `lotse status` shows. */
export interface ClusterStatus extends Place {
  /** When it was observed (ISO time). */
  readonly at: string;
  /** Absent without a leader, or when leader election is off. */
  readonly leader?: { readonly holder: string; readonly renewed: string };
  readonly nodes: readonly NodeStatus[];
  readonly balancers: readonly BalancerStatus[];
  readonly routes?: { readonly wanted: number; readonly toChange: number };
  /** Number of units that the next run would change. */
  readonly changes: number;
  readonly refused: readonly Refusal[];
  /** What Events say about Services and Nodes. */
  readonly notes: readonly string[];
  readonly heldBack?: string;
  /** Number of changes that wait for approval. */
  readonly waiting: number;
  readonly lastRun?: ControllerStatus["lastRun"];
  readonly budget: { readonly remaining: number; readonly limit: number };
}

interface StatusInput extends ClusterPlan {
  readonly place: Place;
  readonly lease?: LeaseObject | undefined;
  /** Number of changes that wait for approval. */
  readonly waiting: number;
  readonly controller?: ControllerStatus | undefined;
  readonly budget: ClusterStatus["budget"];
}

/** Renders the status. */
export function renderStatus(input: StatusInput): ClusterStatus {
  const { place, snapshot, rendered, plan, heldBack, lease, waiting, controller, budget } = input;
  const holder = holderOf(lease, new Date(snapshot.now));
  const routes = rendered.routes && {
    wanted: rendered.routes.wanted.length,
    toChange: plan.filter(({ unit }) => unit.startsWith("route/")).length,
  };
  return {
    ...place,
    at: new Date(snapshot.now).toISOString(),
    ...(holder && { leader: { holder, renewed: lease?.spec?.renewTime ?? "" } }),
    nodes: snapshot.nodes.map((node) => nodeStatus(node, snapshot)),
    balancers: rendered.services.map((intent) => balancerStatus(intent, snapshot, input)),
    ...defined({ routes }),
    changes: plan.length,
    refused: refusalsOf(rendered),
    notes: eventNotes(rendered, plan, snapshot.nodes),
    ...defined({ heldBack }),
    waiting,
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
  const state = balancerIn(rendered.existing, intent.unit);
  const balancer = state && cloud.loadBalancers.find(({ id }) => id === state.id);
  const targets = healthOf(balancer);
  const problems = balancer && intent.kind === "balance" ? problemsOf(intent, targets) : [];
  return {
    service: serviceName(intent.service),
    state: stateOf(intent, plan, { exists: balancer !== undefined, isDegraded: problems.length > 0 }),
    problems,
    ...(balancer && { id: balancer.id, type: balancer.load_balancer_type.name }),
    addresses: balancer ? addressesOf(balancer) : [],
    targets,
  };
}

function stateOf(
  intent: ServiceIntent,
  plan: Plan,
  { exists, isDegraded }: { readonly exists: boolean; readonly isDegraded: boolean },
): BalancerStatus["state"] {
  if (intent.kind === "retire") {
    const isRemoved = plan.some(({ unit, kind }) => unit === intent.unit && kind === "remove");
    return intent.isLeftBehind || (exists && !isRemoved) ? "to be kept" : "to be deleted";
  }
  if (intent.mistakes.length > 0) return "refused";
  if (plan.some(({ unit }) => unit === intent.unit)) return exists ? "to be changed" : "to be created";
  return isDegraded ? "degraded" : "ready";
}

function problemsOf({ spec, certificates }: BalanceIntent, { healthy, total }: BalancerStatus["targets"]) {
  return [
    ...certificates.problems,
    ...(spec.listeners.length === 0 ? ["no listener"] : []),
    ...(total === 0 ? ["no target"] : healthy === 0 ? ["no healthy target"] : []),
  ];
}

function addressesOf({ public_net: { enabled, ipv4, ipv6 }, private_net }: LoadBalancer): readonly string[] {
  const all = [...(enabled ? [ipv4.ip, ipv6.ip] : []), ...private_net.map(({ ip }) => ip)];
  return all.filter((ip) => typeof ip === "string");
}

/** A target is healthy when it is healthy on every port. */
function healthOf(balancer: LoadBalancer | undefined): BalancerStatus["targets"] {
  const targets = balancer?.targets ?? [];
  const isHealthy = ({ health_status: ports = [] }: LoadBalancerTarget) =>
    ports.length > 0 && ports.every(({ status }) => status === "healthy");
  return { healthy: targets.filter(isHealthy).length, total: targets.length };
}
