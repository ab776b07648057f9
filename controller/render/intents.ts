/** The intent of each Service, and what exists in the cloud for it. */
import type { V1Secret, V1Service } from "@kubernetes/client-node";
import { defined } from "../../stacks/units/defined.ts";
import { loadBalancerUnit } from "../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState, UnitId, UnitState, UnitStates } from "../../stacks/units/spec.ts";
import { releaserOf } from "../formats/marks.ts";
import type { LoadBalancer, Server } from "../hcloud/api.ts";
import type { CloudState } from "../hcloud/reader.ts";
import { type CertificatePlan, planRetirement, type Retirement } from "./certificate/plan.ts";
import type { SecretList } from "./certificate/tls-secret.ts";
import type { Rendered, RenderOptions, Snapshot } from "./cluster.ts";
import { type AdoptionMode, explainUnusable, findBalancer, type Unusable } from "./service/adoption.ts";
import type { Note } from "./service/advice.ts";
import { renderLoadBalancer } from "./service/load-balancer.ts";
import { balancerState } from "./service/load-balancer-state.ts";
import { OPTIONS, PREFIX } from "./service/options/annotations.ts";
import type { Settings } from "./service/options/settings.ts";
import { type Claimant, findForeign, intentOf, serviceName, serviceRef, withoutForeign } from "./service/ours.ts";
import { keepOnRetire } from "./service/retire.ts";
import type { Targets } from "./service/targets.ts";
import { defaultName } from "./service/wanted.ts";

/** What one Service asks for, and what becomes of it. */
export type ServiceIntent = { readonly service: V1Service; readonly unit: UnitId } & (
  | {
      readonly kind: "balance";
      readonly spec: LoadBalancerSpec;
      readonly settings: Settings;
      /** What is wrong with the Service. The spec keeps what the load balancer has there. */
      readonly mistakes: readonly string[];
      readonly notes: readonly Note[];
      readonly leftOut: Targets["leftOut"];
      readonly certificates: CertificatePlan;
      /** Id of an existing load balancer without an owner that is being adopted. */
      readonly adopts?: number;
    }
  /** Invalid: keeps what it has. */
  | { readonly kind: "refused"; readonly mistakes: readonly string[]; readonly notes?: readonly Note[] }
  | {
      readonly kind: "retire";
      /** Set when the load balancer is kept: the remaining change, and why it is kept. */
      readonly keeps?: { readonly spec: LoadBalancerSpec; readonly reason: string };
      /** Whether the cloud lists a load balancer that this Service left behind: it exists without an owner. */
      readonly isLeftBehind?: boolean;
      readonly certificates: Retirement;
    }
);

/** The intent of a Service that is served. */
export type BalanceIntent = ServiceIntent & { readonly kind: "balance" };

/** The intent of a Service that is no longer served. */
export type RetireIntent = ServiceIntent & { readonly kind: "retire" };

/** Whether a Service is served. */
export function isBalanced(intent: ServiceIntent): intent is BalanceIntent {
  return intent.kind === "balance";
}

/** The existing load balancer of a unit. */
export function balancerIn(existing: UnitStates, unit: UnitId): LoadBalancerState | undefined {
  const state = existing[unit];
  return state?.kind === "load-balancer" ? state : undefined;
}

/** An intent, and the Service's existing load balancer without its foreign parts. */
interface RenderedIntent {
  readonly intent: ServiceIntent;
  readonly balancer?: LoadBalancerState | undefined;
}

/** What all Services of a snapshot share. */
interface Shared {
  readonly snapshot: Snapshot;
  readonly options: RenderOptions;
  readonly takenIps: ReadonlySet<string>;
  readonly balancerIds: ReadonlyMap<string, number>;
  readonly secretsOf: (namespace: string) => ReadonlyMap<string, V1Secret> | undefined;
}

/**
 * The intents of all Services that are ours, and what exists of their load balancers and certificates. Pauses after each
 * Service, so that the caller can let other work proceed.
 */
export function* renderIntents(
  snapshot: Snapshot,
  options: RenderOptions,
): Generator<void, Pick<Rendered, "services" | "existing">> {
  const takenIps = addressesIn(options.networkId, snapshot.cloud);
  const balancerIds = new Map(snapshot.cloud.loadBalancers.map(({ name, id }) => [name, id]));
  const shared = { snapshot, options, takenIps, balancerIds, secretsOf: secretsByNamespace(snapshot.secrets ?? []) };
  const all: RenderedIntent[] = [];
  for (const service of snapshot.services) {
    const kind = intentOf(service, options.classes);
    if (kind === "none") continue;
    all.push(kind === "retire" ? retire(service, snapshot) : balance(service, shared));
    yield;
  }
  const settled = settleRivals(all);
  const services = settled.map(({ intent }) => intent);
  const balancers = settled.flatMap(({ intent, balancer }) => (balancer ? [[intent.unit, balancer] as const] : []));
  const owned = services.flatMap((intent) => (intent.kind === "refused" ? [] : intent.certificates.owned));
  const certificates = owned.map(({ unit, state }) => [unit, state] as const);
  return { services, existing: Object.fromEntries<UnitState>([...balancers, ...certificates]) };
}

/** Only finds load balancers by label: one that merely has the name never belonged to the Service (S21). */
function retire(service: V1Service, snapshot: Snapshot): RenderedIntent {
  const { cloud, now } = snapshot;
  const { ref, unit, found } = find(service, snapshot);
  if (found.kind === "ambiguous") return refuse(service, found, snapshot);
  const own = found.kind === "own" ? found.balancer : undefined;
  const existing = own && splitForeign(own, cloud, { service, nodes: [], servers: [] }).existing;
  const keeping = existing && keepOnRetire(service, existing);
  const isFinal = keeping ? keeping.existing.listeners.length === 0 : !existing;
  const certificates = planRetirement(ref, { ...cloud, now }, isFinal);
  const isLeftBehind = cloud.loadBalancers.some(({ labels }) => releaserOf(labels)?.uid === ref.uid);
  const intent = { service, unit, kind: "retire", certificates, ...(isLeftBehind && { isLeftBehind }) } as const;
  if (!keeping) return { intent, balancer: existing };
  return { intent: { ...intent, keeps: { spec: keeping.spec, reason: keeping.reason } }, balancer: keeping.existing };
}

function balance(service: V1Service, shared: Shared): RenderedIntent {
  const { snapshot, options } = shared;
  const { nodes, cloud } = snapshot;
  const { unit, found } = find(service, snapshot, options.adoption);
  if (found.kind !== "own" && found.kind !== "adoptable" && found.kind !== "none")
    return refuse(service, found, snapshot);
  const takeover = found.kind === "adoptable" && { takeover: found.takeover };
  const claimant = { service, nodes, servers: cloud.servers, ...takeover };
  const present = found.kind === "none" ? undefined : splitForeign(found.balancer, cloud, claimant);
  const rendered = renderLoadBalancer(service, { ...contextOf(service, shared), ...present, ...takeover });
  const { mistakes, notes } = rendered;
  if (!rendered.ok) return { intent: { service, unit, kind: "refused", mistakes, notes } };
  const { ok: _, existing, ...parts } = rendered;
  const adopts = found.kind === "adoptable" && { adopts: found.balancer.id };
  return { intent: { service, unit, kind: "balance", ...parts, ...adopts }, balancer: existing };
}

/** What a load balancer is rendered from, except for what already exists. */
function contextOf(service: V1Service, { snapshot, options, takenIps, balancerIds, secretsOf }: Shared) {
  const { nodes, cloud, now } = snapshot;
  const { defaults, networkId, robots = false } = options;
  const { servers, network, catalogue } = cloud;
  const secrets = secretsOf(serviceRef(service).namespace);
  return {
    ...defined({ networkId, network, catalogue }),
    nodes,
    servers,
    defaults,
    robots,
    takenIps,
    balancerIds,
    certificates: { ...cloud, now, ...defined({ secrets }) },
  };
}

/** A listed load balancer, split into the Service's parts and foreign ones. */
function splitForeign(balancer: LoadBalancer, { network }: CloudState, claimant: Omit<Claimant, "selectors">) {
  const listed = balancerState(balancer, network);
  const selectors = balancer.targets.filter(({ type }) => type === "label_selector").length;
  const foreign = findForeign(listed, { ...claimant, selectors });
  return { listed, existing: withoutForeign(listed, foreign), foreign, otherTargets: selectors };
}

/** TLS Secrets of a namespace, by name; undefined when we may not read them. */
function secretsByNamespace(lists: readonly SecretList[]): Shared["secretsOf"] {
  const all = Map.groupBy(
    lists.flatMap(({ secrets }) => secrets),
    ({ metadata }) => metadata?.namespace ?? "",
  );
  const named = new Map(
    [...all].map(([namespace, secrets]) => [namespace, new Map(secrets.map((one) => [one.metadata?.name ?? "", one]))]),
  );
  return (namespace) => {
    const isRead = lists.some((list) => (list.namespace ?? namespace) === namespace);
    return isRead ? (named.get(namespace) ?? new Map<string, V1Secret>()) : undefined;
  };
}

/** Addresses in a network that servers and load balancers have, including alias IPs. */
function addressesIn(networkId: number | undefined, { servers, loadBalancers }: CloudState): ReadonlySet<string> {
  const all: Server["private_net"] = [...servers, ...loadBalancers].flatMap(({ private_net }) => private_net);
  const inNetwork = all.filter(({ network }) => network === networkId);
  return new Set(inNetwork.flatMap(({ ip, alias_ips }) => [ip, ...(alias_ips ?? [])]));
}

function find(service: V1Service, { cloud, services }: Snapshot, mode?: AdoptionMode) {
  const ref = serviceRef(service);
  const annotations = service.metadata?.annotations ?? {};
  const name = annotations[PREFIX + OPTIONS.name.annotation] || defaultName(ref.uid);
  const text = annotations[PREFIX + OPTIONS.id.annotation];
  const id = text === undefined ? undefined : OPTIONS.id.parse(text);
  const wanted = { service: ref, name, ...(id && "value" in id && { id: id.value }) };
  const rules = { services, ...(mode && { mode }) };
  return { ref, unit: loadBalancerUnit(ref), found: findBalancer(cloud.loadBalancers, wanted, rules) };
}

function refuse(service: V1Service, found: Unusable, { services }: Snapshot): RenderedIntent {
  const unit = loadBalancerUnit(serviceRef(service));
  return { intent: { service, unit, kind: "refused", mistakes: [explainUnusable(found, service, services)] } };
}

/** Of several Services that request the same new or ownerless load balancer, the first one gets it. */
function settleRivals(all: readonly RenderedIntent[]): readonly RenderedIntent[] {
  const claims = new Map<string, string>();
  return all.map((one) => {
    const { intent, balancer } = one;
    if (intent.kind !== "balance" || (balancer && intent.adopts === undefined)) return one;
    const { service, unit, spec, adopts } = intent;
    const keys = [`name ${spec.name}`, ...(adopts === undefined ? [] : [`id ${adopts}`])];
    const holder = keys.map((key) => claims.get(key)).find((found) => found !== undefined);
    if (holder === undefined) {
      for (const key of keys) claims.set(key, serviceName(service));
      return one;
    }
    const mistake = `load balancer "${spec.name}" is also requested by Service ${holder}: use another name or id`;
    return { intent: { service, unit, kind: "refused", mistakes: [mistake] } };
  });
}
