/** A Service and the nodes → the balancer it wants. Everything is checked before anything is touched. */
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

/** What surrounds a Service when its balancer is rendered. */
export interface BalancerContext extends Surroundings {
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  readonly defaults: ServiceOptions;
  /** Whether dedicated servers are targets. */
  readonly robots?: boolean;
  /** Targets on the balancer that nobody can claim: label selectors. */
  readonly otherTargets?: number;
}

/** What a Service gets, and what its user should hear. */
export type RenderedBalancer = { readonly mistakes: readonly string[]; readonly notes: readonly Note[] } & (
  | {
      readonly ok: true;
      /** The next step towards what is wanted. Where a mistake was made it says what the balancer has. */
      readonly spec: LoadBalancerSpec;
      readonly settings: Settings;
      readonly leftOut: Targets["leftOut"];
      readonly certificates: CertificatePlan;
    }
  /** Nothing exists yet, and nothing is made with a mistake in it. */
  | { readonly ok: false }
);

/**
 * The balancer of a Service. With mistakes, an existing one keeps what they are about and follows in the rest, its nodes
 * above all; a new one is not made.
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
  const said = [
    ...notes,
    ...adviseOnBalancer(settings, wanted, context),
    ...limitNotes(beyondLimit, wanted.type),
    ...foreignNotes(context),
    ...certificateNotes(certificates),
  ];
  return { ok: true, spec, settings, mistakes, notes: said, leftOut, certificates };
}

function certificatesOf(service: V1Service, { ports }: ServiceSettings, context: BalancerContext): CertificatePlan {
  const { certificates, existing } = context;
  const intents = [...ports].map(([port, own]) => [port, { options: own.options, isBroken: isBroken(own) }] as const);
  return planCertificates(serviceRef(service), new Map(intents), { ...certificates, ...(existing && { existing }) });
}

function certificateNotes({ problems }: CertificatePlan): readonly Note[] {
  return problems.length === 0 ? [] : [{ reason: "CertificateNotReady", message: problems.join("; ") }];
}

/** `a` and the uid without dashes, cut to 32 characters: the framework's name, by which an existing balancer is found. */
export function defaultName(uid: string): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/** An existing balancer stays where it is; a new one needs to be told where to go. */
function placeOf(
  options: ServiceOptions,
  existing: LoadBalancerState | undefined,
): LoadBalancerSpec["place"] | undefined {
  if (existing) return { location: existing.location };
  if (options.location) return { location: options.location };
  return options.networkZone ? { networkZone: options.networkZone } : undefined;
}

/** The balancer's own fields. Those with a mistake, and those that are not ours to reset, stay as they are. */
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

/** A protection that was set for the Service goes with the annotation; one that somebody else set stays (S21). */
function protectionOf({ options, broken }: Settings, existing: LoadBalancerState | undefined): boolean {
  const has = existing?.deleteProtection ?? false;
  if (broken.has("deleteProtection")) return has;
  return options.deleteProtection ?? (has && !Object.hasOwn(existing?.labels ?? {}, PROTECTED_MARK));
}

/** An address or a subnet with a mistake is not asked for, so that the attachment stays as it is. */
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

/** With a selector that cannot be read, targets may leave with their nodes, but none may join. */
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

/** How much there may be on the balancer, and what others have of it. */
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

/** Names at most a few: an Event is short. */
function limitNotes(nodes: readonly string[], type: string): readonly Note[] {
  if (nodes.length === 0) return [];
  const shown = nodes.slice(0, 20).join(", ") + (nodes.length > 20 ? ` and ${nodes.length - 20} more` : "");
  const message = `type ${type} has no room for ${nodes.length} of the nodes: ${shown}; choose a larger type or a node-selector`;
  return [{ reason: "MaxTargetsReached", message }];
}

function foreignNotes({ foreign }: BalancerContext): readonly Note[] {
  if (!foreign || foreign.size === 0) return [];
  const message = `${[...foreign].slice(0, 20).join(", ")} were on the balancer before this Service, and are left alone`;
  return [{ reason: "ForeignPartsKept", message }];
}
