/** What a Service asks of its load balancer, as if nothing on it were foreign. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { defined } from "../../../stacks/units/defined.ts";
import { targetPart } from "../../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../stacks/units/spec.ts";
import { parseLabelSelector } from "../../formats/label-selector.ts";
import { PROTECTED_MARK } from "../../formats/marks.ts";
import type { Server } from "../../hcloud/api.ts";
import { type CertificatePlan, planCertificates } from "../certificate/plan.ts";
import type { Takeover } from "./adoption.ts";
import type { Surroundings } from "./checks.ts";
import { DEFAULT_TYPE, limitsOf } from "./cloud-checks.ts";
import { renderLabels, renderRdns } from "./labels.ts";
import { isBroken, renderListeners } from "./listeners.ts";
import type { ServiceOptions } from "./options/annotations.ts";
import type { ServiceSettings, Settings } from "./options/settings.ts";
import { countForeign, NOTHING_FOREIGN, serviceRef } from "./ours.ts";
import { renderTargets, type Targets, usesPrivateIp } from "./targets.ts";

/** What a load balancer is rendered from, besides its Service. */
export interface BalancerContext extends Surroundings {
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  readonly defaults: ServiceOptions;
  /** Whether dedicated servers are targets. */
  readonly robots?: boolean;
  /** The existing load balancer with its foreign parts. */
  readonly listed?: LoadBalancerState;
  /** Number of label selector targets, which never belong to a Service. */
  readonly otherTargets?: number;
  /** How the existing load balancer is being adopted; absent when the Service owns it already. */
  readonly takeover?: Takeover;
}

/** The same with the place, which is always known when a load balancer is rendered. */
export type PlacedContext = BalancerContext & Pick<LoadBalancerSpec, "place">;

/** What the Service asks for, as if nothing on the load balancer were foreign. */
export function renderWanted(service: V1Service, settings: ServiceSettings, context: PlacedContext) {
  const { existing, place } = context;
  const fields = fieldsOf(settings, serviceRef(service).uid, context);
  const { targets, leftOut, beyondLimit } = targetsOf(settings, fields.type, context);
  const network = attachmentOf(settings, context);
  const certificates = certificatesOf(service, settings, context);
  const wanted: LoadBalancerSpec = {
    kind: "load-balancer",
    service: serviceRef(service),
    place,
    ...fields,
    ...(network && { network }),
    listeners: renderListeners(service, settings, { certificates: certificates.ids, existing: existing?.listeners }),
    targets,
  };
  return { wanted, leftOut, beyondLimit, certificates };
}

/** The framework's name, by which load balancers are found: `a` and the UID without dashes, cut to 32 characters. */
export function defaultName(uid: string): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/** The load balancer's own fields. Fields with a mistake, and those that were set elsewhere, are unchanged. */
function fieldsOf(settings: Settings, uid: string, { existing, foreign, takeover }: BalancerContext) {
  const { options, broken } = settings;
  const algorithm = options.algorithm ?? "round_robin";
  const rdns = renderRdns(settings, existing);
  const type = broken.has("type") ? undefined : options.type;
  return {
    name: (!broken.has("name") && options.name) || (existing?.name ?? defaultName(uid)),
    type: type || (existing?.type ?? DEFAULT_TYPE),
    algorithm: broken.has("algorithm") ? (existing?.algorithm ?? algorithm) : algorithm,
    labels: renderLabels(settings, { uid, rdns, existing, foreign, takeover }),
    deleteProtection: protectionOf(settings, existing),
    ...(Object.keys(rdns).length > 0 && { rdns }),
  };
}

/** Protection set for the Service ends with the annotation; protection that was set elsewhere is kept (S21). */
function protectionOf({ options, broken }: Settings, existing: LoadBalancerState | undefined): boolean {
  const has = existing?.deleteProtection ?? false;
  if (broken.has("deleteProtection")) return has;
  return options.deleteProtection ?? (has && !Object.hasOwn(existing?.labels ?? {}, PROTECTED_MARK));
}

/** An invalid address or subnet is left out, so that the attachment is unchanged. */
function attachmentOf({ options, broken }: Settings, { networkId, existing }: BalancerContext) {
  if (networkId === undefined) return undefined;
  const isPublic = !(options.disablePublicNetwork ?? false);
  const { privateIpv4: ip, privateSubnet: subnet } = options;
  const isFine = !broken.has("privateIpv4") && !broken.has("privateSubnet");
  return {
    networkId,
    publicInterface: broken.has("disablePublicNetwork") ? (existing?.publicInterface ?? isPublic) : isPublic,
    ...(isFine && defined({ subnet, ip })),
  };
}

/**
 * With an invalid node selector, targets are still removed with their nodes, but none are added. While `usePrivateIp` has
 * a mistake, nodes are reached as before; in an unknown network, no private targets are added.
 */
function targetsOf({ options, broken }: Settings, type: string, context: BalancerContext): Targets {
  const { networkId, existing, foreign = NOTHING_FOREIGN, robots = false } = context;
  const wantsPrivate = options.usePrivateIp ?? false;
  const usePrivateIp =
    (broken.has("usePrivateIp") ? usesPrivateIp(existing?.targets ?? []) : undefined) ?? wantsPrivate;
  const isUnknown = usePrivateIp && networkId === undefined;
  const render = (places?: number) =>
    renderTargets(context.nodes, context.servers, {
      selector: parseLabelSelector(options.nodeSelector ?? "") ?? (() => true),
      usePrivateIp,
      robots,
      ...(isUnknown && existing && { present: existing.targets.map(targetPart) }),
      ...defined({ networkId, places }),
    });
  // A foreign target that is a node needs no second place.
  const nodes = new Set(foreign.size > 0 ? render().targets.map(targetPart) : []);
  const others = new Set([...foreign].filter((part) => !nodes.has(part)));
  const { limits, foreignTargets } = roomOf(type, type, { ...context, foreign: others });
  const rendered = render(limits && Math.max(limits.targets - foreignTargets, 0));
  if (!broken.has("nodeSelector")) return rendered;
  const present = new Set(existing?.targets.map(targetPart));
  return { ...rendered, targets: rendered.targets.filter((target) => present.has(targetPart(target))) };
}

/** The limits of the load balancer, and how much of them foreign parts use. */
export function roomOf(type: string, presentType: string, { catalogue, foreign, otherTargets = 0 }: BalancerContext) {
  const others = countForeign(foreign);
  return {
    limits: limitsOf(catalogue?.types ?? [], type),
    presentLimits: limitsOf(catalogue?.types ?? [], presentType),
    foreignListeners: others.listeners,
    foreignTargets: others.targets + otherTargets,
  };
}

function certificatesOf(service: V1Service, { ports }: ServiceSettings, context: BalancerContext): CertificatePlan {
  const { certificates, existing } = context;
  const wishes = [...ports].map(([port, own]) => [port, { options: own.options, isBroken: isBroken(own) }] as const);
  return planCertificates(serviceRef(service), new Map(wishes), { ...certificates, existing });
}
