/** Everything observed → everything wanted. Pure: reads the snapshot and nothing else. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { loadBalancerUnit, routeUnit } from "../../stacks/names.ts";
import type { LoadBalancerSpec, NodeRecord, UnitId, UnitState } from "../../stacks/spec.ts";
import { balancerState } from "../hcloud/balancer.ts";
import type { CloudState } from "../hcloud/view.ts";
import { findServer, type NodeOptions, nodeRecord } from "../node/metadata.ts";
import { robotRecord } from "../node/robot.ts";
import { planRoutes, type RoutePlan } from "../route/routes.ts";
import { PREFIX, type ServiceOptions } from "../service/annotations.ts";
import { findBalancer } from "../service/find.ts";
import { defaultName, renderLoadBalancer } from "../service/load-balancer.ts";
import type { Note } from "../service/notes.ts";
import { serviceRef, wishOf } from "../service/ours.ts";
import type { Settings } from "../service/settings.ts";
import type { Targets } from "../service/targets.ts";

/** Everything observed at one moment. */
export interface Snapshot {
  readonly services: readonly V1Service[];
  readonly nodes: readonly V1Node[];
  readonly cloud: CloudState;
}

/** What rendering needs to know besides the snapshot. */
export interface RenderOptions extends NodeOptions {
  readonly defaults: ServiceOptions;
  /** Pod ranges of the cluster; empty when routes are not ours to make. */
  readonly clusterCidrs: readonly string[];
  /** Whether dedicated servers are targets of balancers. */
  readonly robots?: boolean;
}

/** A Service that wants a balancer, and what became of the wish. */
export type ServiceWish = { readonly service: V1Service; readonly unit: UnitId } & (
  | {
      readonly kind: "balance";
      readonly spec: LoadBalancerSpec;
      readonly settings: Settings;
      /** What is wrong with the Service: the spec keeps what the balancer has there. */
      readonly mistakes: readonly string[];
      readonly notes: readonly Note[];
      readonly leftOut: Targets["leftOut"];
      /** Set when an existing balancer without an owner is taken over. */
      readonly adopts?: number;
    }
  /** Invalid: keeps what it has. */
  | { readonly kind: "refused"; readonly mistakes: readonly string[] }
  | { readonly kind: "release" }
);

export interface Desired {
  readonly services: readonly ServiceWish[];
  /** Absent when routes are not ours to make. */
  readonly routes?: RoutePlan;
  /** What the cloud has of our units. */
  readonly present: Readonly<Partial<Record<UnitId, UnitState>>>;
  /** For the stack's outputs. */
  readonly nodes: Readonly<Record<string, NodeRecord>>;
}

export function renderCluster(snapshot: Snapshot, options: RenderOptions): Desired {
  const present: Partial<Record<UnitId, UnitState>> = {};
  const wishes = snapshot.services.flatMap((service) => {
    const wish = wishFor(service, snapshot, options, present);
    return wish ? [wish] : [];
  });
  const services = settleRivals(wishes, present);
  const routes = renderClusterRoutes(snapshot, options, present);
  return { services, ...(routes && { routes }), present, nodes: recordNodes(snapshot, options) };
}

function wishFor(
  service: V1Service,
  { nodes, cloud }: Snapshot,
  options: RenderOptions,
  present: Partial<Record<UnitId, UnitState>>,
): ServiceWish | undefined {
  const kind = wishOf(service);
  if (kind === "none") return undefined;
  const ref = serviceRef(service);
  const unit = loadBalancerUnit(ref);
  const name = service.metadata?.annotations?.[`${PREFIX}name`] || defaultName(ref.uid);
  const found = findBalancer(cloud.loadBalancers, ref.uid, name);
  if (found.kind === "ambiguous") {
    const mistake = `balancers ${found.ids.join(" and ")} both carry this Service's label: remove it from all but one`;
    return { service, unit, kind: "refused", mistakes: [mistake] };
  }
  if (kind === "release") {
    if (found.kind === "own") present[unit] = balancerState(found.balancer);
    return { service, unit, kind: "release" };
  }
  if (found.kind === "taken") {
    const mistake = `balancer "${name}" belongs to the Service with uid ${found.owner}: choose another name`;
    return { service, unit, kind: "refused", mistakes: [mistake] };
  }
  const state = "balancer" in found ? balancerState(found.balancer) : undefined;
  if (state) present[unit] = state;
  const { defaults, networkId, robots = false } = options;
  const rendered = renderLoadBalancer(service, {
    nodes,
    servers: cloud.servers,
    defaults,
    robots,
    ...(networkId !== undefined && { networkId }),
    ...(state && { present: state }),
  });
  if (!rendered.ok) return { service, unit, kind: "refused", mistakes: rendered.mistakes };
  const { ok: _, ...parts } = rendered;
  return { service, unit, kind: "balance", ...parts, ...(found.kind === "adoptable" && { adopts: found.balancer.id }) };
}

/** Services that ask for the same new or ownerless balancer by name: the first gets it, so that none takes it from another. */
function settleRivals(
  wishes: readonly ServiceWish[],
  present: Partial<Record<UnitId, UnitState>>,
): readonly ServiceWish[] {
  const claims = new Map<string, string>();
  return wishes.map((wish) => {
    if (wish.kind !== "balance" || (present[wish.unit] && wish.adopts === undefined)) return wish;
    const { service, unit, spec } = wish;
    const holder = claims.get(spec.name);
    if (holder === undefined) {
      claims.set(spec.name, `${spec.service.namespace}/${spec.service.name}`);
      return wish;
    }
    delete present[unit];
    const mistake = `balancer "${spec.name}" is asked for by Service ${holder} too: choose another name`;
    return { service, unit, kind: "refused", mistakes: [mistake] };
  });
}

function renderClusterRoutes(
  { nodes, cloud: { servers, network } }: Snapshot,
  { clusterCidrs }: RenderOptions,
  present: Partial<Record<UnitId, UnitState>>,
): Desired["routes"] {
  if (!network || clusterCidrs.length === 0) return undefined;
  const routes = planRoutes({ nodes, servers, network }, clusterCidrs);
  const ours = new Set([
    ...routes.wanted.map(({ spec }) => spec.destination),
    ...routes.stale.map(({ destination }) => destination),
  ]);
  for (const { destination, gateway } of network.routes) {
    if (!ours.has(destination)) continue;
    present[routeUnit({ destination })] = { kind: "route", networkId: network.id, destination, gateway };
  }
  return routes;
}

function recordNodes({ nodes, cloud }: Snapshot, options: RenderOptions): Record<string, NodeRecord> {
  const records: Record<string, NodeRecord> = {};
  for (const node of nodes) {
    const server = findServer(node, cloud.servers);
    const record = server ? nodeRecord(node, server, options) : robotRecord(node);
    if (record) records[node.metadata?.name ?? ""] = record;
  }
  return records;
}
