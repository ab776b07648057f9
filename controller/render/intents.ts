/** What each Service wants, and what became of the intent. */
import type { V1Secret, V1Service } from "@kubernetes/client-node";
import { loadBalancerUnit } from "../../stacks/units/names.ts";
import type { CertificateSpec, LoadBalancerSpec, UnitId, UnitState } from "../../stacks/units/spec.ts";
import type { LoadBalancer } from "../hcloud/api.ts";
import type { CloudState } from "../hcloud/view.ts";
import { type CertificatePlan, planRetirement } from "./certificate/plan.ts";
import type { SecretList } from "./certificate/tls-secret.ts";
import type { RenderOptions, Snapshot } from "./cluster.ts";
import type { Note } from "./service/checks/notes.ts";
import { defaultName, renderLoadBalancer } from "./service/load-balancer.ts";
import { balancerState } from "./service/load-balancer-state.ts";
import { OPTIONS, PREFIX } from "./service/options/annotations.ts";
import type { Settings } from "./service/options/settings.ts";
import { type FoundBalancer, findBalancer } from "./service/ownership/find.ts";
import { findForeign, withoutForeign } from "./service/ownership/foreign.ts";
import { intentOf, serviceRef } from "./service/ownership/ours.ts";
import { keepOnRetire } from "./service/ownership/retire.ts";
import type { Targets } from "./service/targets.ts";

/** A Service that wants a balancer, and what became of the intent. */
export type ServiceIntent = { readonly service: V1Service; readonly unit: UnitId } & (
  | {
      readonly kind: "balance";
      readonly spec: LoadBalancerSpec;
      readonly settings: Settings;
      /** What is wrong with the Service: the spec keeps what the balancer has there. */
      readonly mistakes: readonly string[];
      readonly notes: readonly Note[];
      readonly leftOut: Targets["leftOut"];
      readonly certificates: CertificatePlan;
      /** Set when an existing balancer without an owner is taken over. */
      readonly adopts?: number;
    }
  /** Invalid: keeps what it has. */
  | { readonly kind: "refused"; readonly mistakes: readonly string[]; readonly notes?: readonly Note[] }
  | {
      readonly kind: "retire";
      /** Set when the balancer stays behind: what is left to do about it, and why it stays. */
      readonly keeps?: { readonly spec: LoadBalancerSpec; readonly reason: string };
      readonly certificates: Pick<CertificatePlan, "owned" | "stale"> & {
        /** Those that are left behind, without owner. */
        readonly left?: readonly CertificateSpec[];
      };
    }
);

/** What the cloud has of our units; intents add the balancers and certificates they find. */
export type Existing = Partial<Record<UnitId, UnitState>>;

/** The intents of all Services that are ours. */
export function renderIntents(
  snapshot: Snapshot,
  options: RenderOptions,
  existing: Existing,
): readonly ServiceIntent[] {
  const intents = snapshot.services.flatMap((service) => {
    const kind = intentOf(service, options.classes);
    if (kind === "none") return [];
    return [
      kind === "retire" ? retireOf(service, snapshot, existing) : intentFor(service, snapshot, options, existing),
    ];
  });
  const settled = settleRivals(intents, existing);
  for (const { unit, state } of settled.flatMap(ownedOf)) existing[unit] = state;
  return settled;
}

function ownedOf(intent: ServiceIntent): CertificatePlan["owned"] {
  return intent.kind === "refused" ? [] : intent.certificates.owned;
}

/** By label alone: what only has the name was never the Service's (S21). */
function retireOf(service: V1Service, { cloud, now }: Snapshot, existing: Existing): ServiceIntent {
  const { ref, unit, found } = find(service, cloud);
  if (found.kind === "ambiguous") return refuse(service, found, ref.name);
  const intent = { service, unit, kind: "retire", certificates: planRetirement(ref, { ...cloud, now }) } as const;
  if (found.kind !== "own") return intent;
  const state = balancerState(found.balancer, cloud.network);
  const foreign = findForeign(state, {
    service,
    nodes: [],
    servers: [],
    isTakingOver: false,
    selectors: selectorsOn(found.balancer),
  });
  const keeping = keepOnRetire(service, withoutForeign(state, foreign));
  existing[unit] = keeping?.existing ?? state;
  return keeping ? { ...intent, keeps: { spec: keeping.spec, reason: keeping.reason } } : intent;
}

function intentFor(service: V1Service, snapshot: Snapshot, options: RenderOptions, existing: Existing): ServiceIntent {
  const { nodes, cloud, now } = snapshot;
  const { ref, unit, found, name } = find(service, cloud);
  if (found.kind === "ambiguous" || found.kind === "taken" || found.kind === "missing") {
    return refuse(service, found, name);
  }
  const selectors = "balancer" in found ? selectorsOn(found.balancer) : 0;
  const claimant = { service, nodes, servers: cloud.servers, isTakingOver: found.kind === "adoptable", selectors };
  const listed = "balancer" in found ? balancerState(found.balancer, cloud.network) : undefined;
  const foreign = listed && findForeign(listed, claimant);
  const state = listed && foreign && withoutForeign(listed, foreign);
  if (state) existing[unit] = state;
  const { defaults, networkId, robots = false } = options;
  const { network, catalogue } = cloud;
  const secrets = secretsIn(ref.namespace, snapshot.secrets ?? []);
  const rendered = renderLoadBalancer(service, {
    nodes,
    servers: cloud.servers,
    defaults,
    robots,
    takenIps: takenIps(cloud, networkId, state?.id),
    otherTargets: selectors,
    certificates: { ...cloud, now, ...(secrets && { secrets }) },
    ...(networkId !== undefined && { networkId }),
    ...(network && { network }),
    ...(catalogue && { catalogue }),
    ...(state && { existing: state }),
    ...(foreign && { foreign }),
  });
  const { mistakes, notes } = rendered;
  if (!rendered.ok) return { service, unit, kind: "refused", mistakes, notes };
  const { ok: _, ...parts } = rendered;
  return { service, unit, kind: "balance", ...parts, ...(found.kind === "adoptable" && { adopts: found.balancer.id }) };
}

/** TLS Secrets of one namespace, by name; nothing when they are not ours to read. */
function secretsIn(namespace: string, lists: readonly SecretList[]): ReadonlyMap<string, V1Secret> | undefined {
  const list = lists.find((one) => (one.namespace ?? namespace) === namespace);
  const found = list?.secrets.filter(({ metadata }) => metadata?.namespace === namespace);
  return found && new Map(found.map((secret) => [secret.metadata?.name ?? "", secret]));
}

function find(service: V1Service, { loadBalancers }: CloudState) {
  const ref = serviceRef(service);
  const annotations = service.metadata?.annotations ?? {};
  const name = annotations[PREFIX + OPTIONS.name.annotation] || defaultName(ref.uid);
  const text = annotations[PREFIX + OPTIONS.id.annotation];
  const id = text === undefined ? undefined : OPTIONS.id.parse(text);
  const wanted = { uid: ref.uid, name, ...(id && "value" in id && { id: id.value }) };
  return { ref, unit: loadBalancerUnit(ref), name, found: findBalancer(loadBalancers, wanted) };
}

function refuse(
  service: V1Service,
  found: FoundBalancer & { readonly kind: "ambiguous" | "taken" | "missing" },
  name: string,
): ServiceIntent {
  const unit = loadBalancerUnit(serviceRef(service));
  return { service, unit, kind: "refused", mistakes: [whyNot(found, name)] };
}

function whyNot(found: FoundBalancer & { readonly kind: "ambiguous" | "taken" | "missing" }, name: string): string {
  switch (found.kind) {
    case "ambiguous":
      return `balancers ${found.ids.join(" and ")} both carry this Service's label: remove it from all but one`;
    case "taken":
      return `balancer "${found.balancer.name}" (id ${found.balancer.id}) belongs to the Service with uid ${found.owner}: choose another${found.balancer.name === name ? " name" : ""}`;
    case "missing":
      return `annotation ${PREFIX}${OPTIONS.id.annotation}: there is no balancer with id ${found.id} in this project`;
  }
}

function selectorsOn({ targets }: LoadBalancer): number {
  return targets.filter(({ type }) => type === "label_selector").length;
}

function takenIps(cloud: CloudState, networkId: number | undefined, self: number | undefined): ReadonlySet<string> {
  const others = cloud.loadBalancers.filter(({ id }) => id !== self);
  const all = [...cloud.servers, ...others].flatMap(({ private_net }) => private_net);
  return new Set(all.filter(({ network }) => network === networkId).map(({ ip }) => ip));
}

/** Services that ask for the same new or ownerless balancer: the first gets it, so that none takes it from another. */
function settleRivals(intents: readonly ServiceIntent[], existing: Existing): readonly ServiceIntent[] {
  const claims = new Map<string, string>();
  return intents.map((intent) => {
    if (intent.kind !== "balance" || (existing[intent.unit] && intent.adopts === undefined)) return intent;
    const { service, unit, spec, adopts } = intent;
    const keys = [`name ${spec.name}`, ...(adopts === undefined ? [] : [`id ${adopts}`])];
    const holder = keys.map((key) => claims.get(key)).find((found) => found !== undefined);
    if (holder === undefined) {
      for (const key of keys) claims.set(key, `${spec.service.namespace}/${spec.service.name}`);
      return intent;
    }
    delete existing[unit];
    const mistake = `balancer "${spec.name}" is asked for by Service ${holder} too: choose another`;
    return { service, unit, kind: "refused", mistakes: [mistake] };
  });
}
