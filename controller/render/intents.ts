/** The intent of each Service, and what exists in the cloud for it. */
import type { V1Secret, V1Service } from "@kubernetes/client-node";
import { loadBalancerUnit, SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import type {
  CertificateSpec,
  LoadBalancerSpec,
  LoadBalancerState,
  UnitId,
  UnitState,
} from "../../stacks/units/spec.ts";
import type { LoadBalancer } from "../hcloud/api.ts";
import type { CloudState } from "../hcloud/view.ts";
import { type CertificatePlan, planRetirement } from "./certificate/plan.ts";
import type { SecretList } from "./certificate/tls-secret.ts";
import type { RenderOptions, Snapshot } from "./cluster.ts";
import type { Note } from "./service/checks/notes.ts";
import { type BalancerContext, defaultName, renderLoadBalancer } from "./service/load-balancer.ts";
import { balancerState } from "./service/load-balancer-state.ts";
import { OPTIONS, PREFIX } from "./service/options/annotations.ts";
import type { Settings } from "./service/options/settings.ts";
import { type FoundBalancer, findBalancer } from "./service/ownership/find.ts";
import { type Claimant, findForeign, withoutForeign } from "./service/ownership/foreign.ts";
import { intentOf, serviceName, serviceRef } from "./service/ownership/ours.ts";
import { keepOnRetire } from "./service/ownership/retire.ts";
import type { Targets } from "./service/targets.ts";

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
      readonly certificates: Pick<CertificatePlan, "owned" | "stale"> & {
        /** Certificates that are kept without an owner. */
        readonly left?: readonly CertificateSpec[];
      };
    }
);

/** What exists in the cloud, by unit. */
export type Existing = Readonly<Partial<Record<UnitId, UnitState>>>;

/** An intent, and the Service's existing load balancer without its foreign parts. */
interface RenderedIntent {
  readonly intent: ServiceIntent;
  readonly balancer?: LoadBalancerState;
}

/** The intents of all Services that are ours, and what exists of their load balancers and certificates. */
export function renderIntents(
  snapshot: Snapshot,
  options: RenderOptions,
): { readonly services: readonly ServiceIntent[]; readonly existing: Existing } {
  const all = snapshot.services.flatMap((service): readonly RenderedIntent[] => {
    const kind = intentOf(service, options.classes);
    if (kind === "none") return [];
    return [kind === "retire" ? retire(service, snapshot) : balance(service, snapshot, options)];
  });
  const settled = settleRivals(all);
  const services = settled.map(({ intent }) => intent);
  const balancers = settled.flatMap(({ intent, balancer }) => (balancer ? [[intent.unit, balancer] as const] : []));
  const certificates = services.flatMap(ownedOf).map(({ unit, state }) => [unit, state] as const);
  return { services, existing: Object.fromEntries<UnitState>([...balancers, ...certificates]) };
}

function ownedOf(intent: ServiceIntent): CertificatePlan["owned"] {
  return intent.kind === "refused" ? [] : intent.certificates.owned;
}

/** Only finds load balancers by label: one that merely has the name never belonged to the Service (S21). */
function retire(service: V1Service, snapshot: Snapshot): RenderedIntent {
  const { cloud, now } = snapshot;
  const { ref, unit, found } = find(service, cloud);
  if (found.kind === "ambiguous") return refuse(service, found, snapshot);
  const intent = { service, unit, kind: "retire", certificates: planRetirement(ref, { ...cloud, now }) } as const;
  if (found.kind !== "own") return { intent };
  const claimant = { service, nodes: [], servers: [], isTakingOver: false };
  const { existing } = splitForeign(found.balancer, cloud, claimant);
  const keeping = keepOnRetire(service, existing);
  if (!keeping) return { intent, balancer: existing };
  return { intent: { ...intent, keeps: { spec: keeping.spec, reason: keeping.reason } }, balancer: keeping.existing };
}

function balance(service: V1Service, snapshot: Snapshot, options: RenderOptions): RenderedIntent {
  const { nodes, cloud } = snapshot;
  const { unit, found } = find(service, cloud);
  if (found.kind === "ambiguous" || found.kind === "taken" || found.kind === "missing") {
    return refuse(service, found, snapshot);
  }
  const claimant = { service, nodes, servers: cloud.servers, isTakingOver: found.kind === "adoptable" };
  const present = found.kind === "none" ? undefined : splitForeign(found.balancer, cloud, claimant);
  const rendered = renderLoadBalancer(service, {
    ...contextOf(service, snapshot, options),
    ...present,
    takenIps: addressesIn(options.networkId, cloud, present?.existing.id),
  });
  const { mistakes, notes } = rendered;
  if (!rendered.ok) return { intent: { service, unit, kind: "refused", mistakes, notes } };
  const { ok: _, ...parts } = rendered;
  const adopts = found.kind === "adoptable" && { adopts: found.balancer.id };
  return {
    intent: { service, unit, kind: "balance", ...parts, ...adopts },
    ...(present && { balancer: present.existing }),
  };
}

/** What a load balancer is rendered from, except for what already exists. */
function contextOf(service: V1Service, snapshot: Snapshot, options: RenderOptions): BalancerContext {
  const { nodes, cloud, now } = snapshot;
  const { defaults, networkId, robots = false } = options;
  const { servers, network, catalogue } = cloud;
  const secrets = secretsIn(serviceRef(service).namespace, snapshot.secrets ?? []);
  return {
    nodes,
    servers,
    defaults,
    robots,
    certificates: { ...cloud, now, ...(secrets && { secrets }) },
    ...(networkId !== undefined && { networkId }),
    ...(network && { network }),
    ...(catalogue && { catalogue }),
  };
}

/** A listed load balancer, split into the Service's parts and foreign ones. */
function splitForeign(balancer: LoadBalancer, { network }: CloudState, claimant: Omit<Claimant, "selectors">) {
  const listed = balancerState(balancer, network);
  const selectors = balancer.targets.filter(({ type }) => type === "label_selector").length;
  const foreign = findForeign(listed, { ...claimant, selectors });
  return { existing: withoutForeign(listed, foreign), foreign, otherTargets: selectors };
}

/** TLS Secrets of one namespace, by name; undefined when we may not read them. */
function secretsIn(namespace: string, lists: readonly SecretList[]): ReadonlyMap<string, V1Secret> | undefined {
  const list = lists.find((one) => (one.namespace ?? namespace) === namespace);
  const found = list?.secrets.filter(({ metadata }) => metadata?.namespace === namespace);
  return found && new Map(found.map((secret) => [secret.metadata?.name ?? "", secret]));
}

/** Addresses in a network that servers and load balancers other than `self` have. */
function addressesIn(networkId: number | undefined, cloud: CloudState, self: number | undefined): ReadonlySet<string> {
  const others = cloud.loadBalancers.filter(({ id }) => id !== self);
  const all = [...cloud.servers, ...others].flatMap(({ private_net }) => private_net);
  return new Set(all.filter(({ network }) => network === networkId).map(({ ip }) => ip));
}

function find(service: V1Service, { loadBalancers }: CloudState) {
  const ref = serviceRef(service);
  const annotations = service.metadata?.annotations ?? {};
  const name = annotations[PREFIX + OPTIONS.name.annotation] || defaultName(ref.uid);
  const text = annotations[PREFIX + OPTIONS.id.annotation];
  const id = text === undefined ? undefined : OPTIONS.id.parse(text);
  const wanted = { uid: ref.uid, name, ...(id && "value" in id && { id: id.value }) };
  return { ref, unit: loadBalancerUnit(ref), found: findBalancer(loadBalancers, wanted) };
}

type Unusable = FoundBalancer & { readonly kind: "ambiguous" | "taken" | "missing" };

function refuse(service: V1Service, found: Unusable, { services }: Snapshot): RenderedIntent {
  const unit = loadBalancerUnit(serviceRef(service));
  return { intent: { service, unit, kind: "refused", mistakes: [explain(found, services)] } };
}

function explain(found: Unusable, services: readonly V1Service[]): string {
  switch (found.kind) {
    case "ambiguous":
      return `load balancers ${found.ids.join(" and ")} carry this Service's label ${SERVICE_UID_LABEL}: remove it from all but one`;
    case "taken": {
      const { name, id } = found.balancer;
      const owner = services.find(({ metadata }) => metadata?.uid === found.owner);
      const who = owner ? `Service ${serviceName(owner)}` : `the Service with UID ${found.owner}`;
      return `load balancer "${name}" (id ${id}) already belongs to ${who}: use another name or id`;
    }
    case "missing":
      return `annotation ${PREFIX}${OPTIONS.id.annotation}: load balancer ${found.id} does not exist in this project`;
  }
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
