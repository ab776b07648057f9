/** A Service and the nodes → the spec of its load balancer. Everything is validated before the first change. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import type { LoadBalancerSpec, LoadBalancerState, NetworkAttachment } from "../../../stacks/units/spec.ts";
import { parseLabelSelector } from "../../formats/label-selector.ts";
import { PROTECTED_MARK } from "../../formats/marks.ts";
import type { Server } from "../../hcloud/api.ts";
import { type CertificatePlan, planCertificates } from "../certificate/plan.ts";
import { adviseOn, adviseOnBalancer } from "./checks/advice.ts";
import { DEFAULT_TYPE } from "./checks/catalogue.ts";
import { checkSettings, type Surroundings } from "./checks/checks.ts";
import { limitsOf } from "./checks/limits.ts";
import type { Note } from "./checks/notes.ts";
import { isBroken, renderListeners, tcpPorts } from "./listeners.ts";
import type { ServiceOptions } from "./options/annotations.ts";
import { parseSettings, type ServiceSettings, type Settings } from "./options/settings.ts";
import { countForeign } from "./ownership/foreign.ts";
import { renderLabels, renderRdns } from "./ownership/labels.ts";
import { serviceRef } from "./ownership/ours.ts";
import { nextStage } from "./stages.ts";
import { isSameTarget, renderTargets, type Targets } from "./targets.ts";

/** What a load balancer is rendered from, besides its Service. */
export interface BalancerContext extends Surroundings {
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  readonly defaults: ServiceOptions;
  /** Whether dedicated servers are targets. */
  readonly robots?: boolean;
  /** Number of label selector targets, which never belong to a Service. */
  readonly otherTargets?: number;
}

/** The load balancer of a Service, and what to report to its user. */
export type RenderedBalancer = { readonly mistakes: readonly string[]; readonly notes: readonly Note[] } & (
  | {
      readonly ok: true;
      /** The next stage towards the desired load balancer. Parts with a mistake are as they exist. */
      readonly spec: LoadBalancerSpec;
      readonly settings: Settings;
      readonly leftOut: Targets["leftOut"];
      readonly certificates: CertificatePlan;
    }
  /** There is no load balancer yet, and none is created because of mistakes. */
  | { readonly ok: false }
);

/**
 * The load balancer of a Service. With mistakes, an existing load balancer keeps the parts they concern, and the rest
 * is still updated, above all its targets; a new load balancer is not created.
 */
export function renderLoadBalancer(service: V1Service, context: BalancerContext): RenderedBalancer {
  const annotations = service.metadata?.annotations ?? {};
  const parsed = parseSettings(annotations, tcpPorts(service), context.defaults);
  const settings = checkSettings(service, parsed, context);
  const { mistakes } = settings;
  const notes = [...settings.notes, ...adviseOn(service, settings)];
  const { existing } = context;
  const place = placeOf(settings.options, existing);
  if (!place || (mistakes.length > 0 && !existing)) return { ok: false, mistakes, notes };

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
    listeners: renderListeners(service, settings, {
      certificates: certificates.ids,
      ...(existing && { existing: existing.listeners }),
    }),
    targets,
  };
  const spec = existing ? nextStage(wanted, existing, roomOf(wanted.type, existing.type, context)) : wanted;
  const allNotes = [
    ...notes,
    ...adviseOnBalancer(settings, wanted, context),
    ...limitNotes(beyondLimit, wanted.type),
    ...foreignNotes(context),
    ...certificateNotes(certificates),
  ];
  return { ok: true, spec, settings, mistakes, notes: allNotes, leftOut, certificates };
}

function certificatesOf(service: V1Service, { ports }: ServiceSettings, context: BalancerContext): CertificatePlan {
  const { certificates, existing } = context;
  const wishes = [...ports].map(([port, own]) => [port, { options: own.options, isBroken: isBroken(own) }] as const);
  return planCertificates(serviceRef(service), new Map(wishes), { ...certificates, ...(existing && { existing }) });
}

function certificateNotes({ problems }: CertificatePlan): readonly Note[] {
  return problems.length === 0 ? [] : [{ reason: "CertificateNotReady", message: problems.join("; ") }];
}

/** The framework's name, by which load balancers are found: `a` and the UID without dashes, cut to 32 characters. */
export function defaultName(uid: string): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/** An existing load balancer stays where it is; a new one needs a location or network zone. */
function placeOf(
  options: ServiceOptions,
  existing: LoadBalancerState | undefined,
): LoadBalancerSpec["place"] | undefined {
  if (existing) return { location: existing.location };
  if (options.location) return { location: options.location };
  return options.networkZone ? { networkZone: options.networkZone } : undefined;
}

/** The load balancer's own fields. Fields with a mistake, and those that were set elsewhere, are unchanged. */
function fieldsOf(
  settings: Settings,
  uid: string,
  { existing, foreign }: BalancerContext,
): Pick<LoadBalancerSpec, "name" | "type" | "algorithm" | "labels" | "deleteProtection" | "rdns"> {
  const { options, broken } = settings;
  const algorithm = options.algorithm ?? "round_robin";
  const rdns = renderRdns(settings, existing);
  const type = broken.has("type") ? undefined : options.type;
  return {
    name: options.name || (existing?.name ?? defaultName(uid)),
    type: type || (existing?.type ?? DEFAULT_TYPE),
    algorithm: broken.has("algorithm") ? (existing?.algorithm ?? algorithm) : algorithm,
    labels: renderLabels(settings, { uid, rdns, ...(existing && { existing }), ...(foreign && { foreign }) }),
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
function attachmentOf(
  { options, broken }: Settings,
  { networkId, existing }: BalancerContext,
): NetworkAttachment | undefined {
  if (networkId === undefined) return undefined;
  const isPublic = !(options.disablePublicNetwork ?? false);
  const { privateIpv4: ip, privateSubnet: subnet } = options;
  const isFine = !broken.has("privateIpv4") && !broken.has("privateSubnet");
  return {
    networkId,
    publicInterface: broken.has("disablePublicNetwork") ? (existing?.publicInterface ?? isPublic) : isPublic,
    ...(isFine && subnet !== undefined && { subnet }),
    ...(isFine && ip !== undefined && { ip }),
  };
}

/** With an invalid node selector, targets are still removed with their nodes, but none are added. */
function targetsOf({ options, broken }: Settings, type: string, context: BalancerContext): Targets {
  const { networkId, existing, robots = false } = context;
  const { limits, foreignTargets } = roomOf(type, type, context);
  const isPrivate = existing?.targets.find((target) => target.kind === "server")?.usePrivateIp ?? false;
  const rendered = renderTargets(context.nodes, context.servers, {
    selector: parseLabelSelector(options.nodeSelector ?? "") ?? (() => true),
    usePrivateIp: broken.has("usePrivateIp") ? isPrivate : (options.usePrivateIp ?? false),
    robots,
    ...(networkId !== undefined && { networkId }),
    ...(limits && { places: Math.max(limits.targets - foreignTargets, 0) }),
  });
  if (!broken.has("nodeSelector")) return rendered;
  const isPresent = (target: Targets["targets"][number]) =>
    existing?.targets.some((other) => isSameTarget(target, other)) ?? false;
  return { ...rendered, targets: rendered.targets.filter(isPresent) };
}

/** The limits of the load balancer, and how much of them foreign parts use. */
function roomOf(type: string, presentType: string, { catalogue, foreign, otherTargets = 0 }: BalancerContext) {
  const limits = limitsOf(catalogue?.types ?? [], type);
  const presentLimits = limitsOf(catalogue?.types ?? [], presentType);
  const others = countForeign(foreign);
  return {
    ...(limits && { limits }),
    ...(presentLimits && { presentLimits }),
    foreignListeners: others.listeners,
    foreignTargets: others.targets + otherTargets,
  };
}

/** Names only some nodes, because the length of an Event is limited. */
function limitNotes(nodes: readonly string[], type: string): readonly Note[] {
  if (nodes.length === 0) return [];
  const shown = nodes.slice(0, 20).join(", ") + (nodes.length > 20 ? ` and ${nodes.length - 20} more` : "");
  const message = `type ${type} has no room for ${nodes.length} of the nodes: ${shown}; choose a larger type, or fewer nodes with annotation load-balancer.hetzner.cloud/node-selector`;
  return [{ reason: "MaxTargetsReached", message }];
}

function foreignNotes({ foreign }: BalancerContext): readonly Note[] {
  if (!foreign || foreign.size === 0) return [];
  const message = `${[...foreign].slice(0, 20).join(", ")} were on the load balancer before this Service adopted it, and are left unchanged`;
  return [{ reason: "ForeignPartsKept", message }];
}
