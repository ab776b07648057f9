/** Everything observed → everything wanted. Pure: reads the snapshot and nothing else. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { routeUnit } from "../../stacks/units/names.ts";
import type { NodeRecord, UnitId, UnitState } from "../../stacks/units/spec.ts";
import type { CloudState } from "../hcloud/view.ts";
import type { SecretList } from "./certificate/tls-secret.ts";
import { renderIntents, type ServiceIntent } from "./intents.ts";
import { findServer, type NodeOptions, nodeRecord } from "./node/metadata.ts";
import { robotRecord } from "./node/robot.ts";
import { planRoutes, type RoutePlan } from "./route/routes.ts";
import type { ServiceOptions } from "./service/options/annotations.ts";
import type { ServedClasses } from "./service/ownership/ours.ts";

/** What the API server shows. */
export interface Observed {
  readonly services: readonly V1Service[];
  readonly nodes: readonly V1Node[];
  /** TLS Secrets, where they are ours to read. */
  readonly secrets?: readonly SecretList[];
}

/** Everything observed at one moment. */
export interface Snapshot extends Observed {
  readonly cloud: CloudState;
  /** When it was taken, in milliseconds since 1970. */
  readonly now: number;
}

/** What rendering needs to know besides the snapshot. */
export interface RenderOptions extends NodeOptions {
  readonly defaults: ServiceOptions;
  /** Pod ranges of the cluster; empty when routes are not ours to make. */
  readonly clusterCidrs: readonly string[];
  /** Whether dedicated servers are targets of balancers. */
  readonly robots?: boolean;
  /** Whose Services are served; those without a class when absent. */
  readonly classes?: ServedClasses;
}

export interface Rendered {
  readonly services: readonly ServiceIntent[];
  /** Absent when routes are not ours to make. */
  readonly routes?: RoutePlan;
  /** What the cloud has of our units. */
  readonly existing: Readonly<Partial<Record<UnitId, UnitState>>>;
  /** For the stack's outputs. */
  readonly nodes: Readonly<Record<string, NodeRecord>>;
}

export function renderCluster(snapshot: Snapshot, options: RenderOptions): Rendered {
  const existing: Partial<Record<UnitId, UnitState>> = {};
  const services = renderIntents(snapshot, options, existing);
  const routes = renderClusterRoutes(snapshot, options, existing);
  return { services, ...(routes && { routes }), existing, nodes: recordNodes(snapshot, options) };
}

function renderClusterRoutes(
  { nodes, cloud: { servers, network } }: Snapshot,
  { clusterCidrs }: RenderOptions,
  existing: Partial<Record<UnitId, UnitState>>,
): Rendered["routes"] {
  if (!network || clusterCidrs.length === 0) return undefined;
  const routes = planRoutes({ nodes, servers, network }, clusterCidrs);
  const ours = new Set([
    ...routes.wanted.map(({ spec }) => spec.destination),
    ...routes.stale.map(({ destination }) => destination),
  ]);
  for (const { destination, gateway } of network.routes) {
    if (!ours.has(destination)) continue;
    existing[routeUnit({ destination })] = { kind: "route", networkId: network.id, destination, gateway };
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
