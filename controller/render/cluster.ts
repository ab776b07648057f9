/** Snapshot → specs. Pure: reads nothing but the snapshot. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { routeUnit } from "../../stacks/units/names.ts";
import type { UnitState, UnitStates } from "../../stacks/units/spec.ts";
import type { Network } from "../hcloud/api.ts";
import type { CloudState } from "../hcloud/reader.ts";
import { finish } from "../work/steps.ts";
import type { SecretList } from "./certificate/tls-secret.ts";
import { renderIntents, type ServiceIntent } from "./intents.ts";
import type { NodeOptions } from "./node/metadata.ts";
import { planRoutes, type RoutePlan } from "./route/routes.ts";
import type { AdoptionMode } from "./service/adoption.ts";
import type { ServiceOptions } from "./service/options/annotations.ts";
import type { ServedClasses } from "./service/ours.ts";

/** What the API server's watches deliver. */
export interface Observed {
  readonly services: readonly V1Service[];
  readonly nodes: readonly V1Node[];
  /** TLS Secrets, where we may read them. */
  readonly secrets?: readonly SecretList[];
}

/** Everything observed at one moment. */
export interface Snapshot extends Observed {
  readonly cloud: CloudState;
  /** When it was taken, in milliseconds since 1970. */
  readonly now: number;
}

/** Settings for rendering. */
export interface RenderOptions extends NodeOptions {
  readonly defaults: ServiceOptions;
  /** Pod CIDRs of the cluster; empty when we do not manage routes. */
  readonly clusterCidrs: readonly string[];
  /** Whether dedicated servers become targets. */
  readonly robots?: boolean;
  /** Which Services are served; when absent, those without a class. */
  readonly classes?: ServedClasses;
  /** Which load balancers without an owner may be adopted; when absent, those that a Service names. */
  readonly adoption?: AdoptionMode;
}

/** What should exist, and what exists of it. */
export interface Rendered {
  readonly services: readonly ServiceIntent[];
  /** Absent when we do not manage routes. */
  readonly routes?: RoutePlan;
  /** Our units that exist in the cloud. */
  readonly existing: UnitStates;
}

/** Renders everything that a snapshot asks for. */
export function renderCluster(snapshot: Snapshot, options: RenderOptions): Rendered {
  return finish(renderInSteps(snapshot, options));
}

/** Like `renderCluster`, with a pause after each Service. */
export function* renderInSteps(snapshot: Snapshot, options: RenderOptions): Generator<void, Rendered> {
  const { services, existing } = yield* renderIntents(snapshot, options);
  const { nodes, cloud } = snapshot;
  const { servers, network } = cloud;
  if (!network || options.clusterCidrs.length === 0) return { services, existing };
  const routes = planRoutes({ nodes, servers, network }, options.clusterCidrs);
  return { services, routes, existing: { ...existing, ...existingRoutes(routes, network) } };
}

function existingRoutes({ wanted, stale, kept }: RoutePlan, { id: networkId, routes }: Network): UnitStates {
  const ours = new Set([...wanted.map(({ spec }) => spec), ...stale, ...kept].map(({ destination }) => destination));
  const states = routes
    .filter(({ destination }) => ours.has(destination))
    .map(({ destination, gateway }) => ({ kind: "route", networkId, destination, gateway }) as const);
  return Object.fromEntries<UnitState>(states.map((state) => [routeUnit(state), state]));
}
