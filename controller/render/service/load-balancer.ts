/** A Service and the nodes → the spec of its load balancer. Everything is validated before the first change. */
import type { V1Service } from "@kubernetes/client-node";
import { listenerPart } from "../../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../stacks/units/spec.ts";
import type { CertificatePlan } from "../certificate/plan.ts";
import { adviseOn, adviseOnBalancer, type Note } from "./advice.ts";
import { checkSettings } from "./checks.ts";
import { tcpPorts } from "./listeners.ts";
import type { ServiceOptions } from "./options/annotations.ts";
import { parseSettings, type ServiceSettings, type Settings } from "./options/settings.ts";
import { differingParts, type ForeignParts, NOTHING_FOREIGN, withoutForeign } from "./ours.ts";
import { nextStage } from "./stages.ts";
import type { Targets } from "./targets.ts";
import { type BalancerContext, type PlacedContext, renderWanted, roomOf } from "./wanted.ts";

/** The load balancer of a Service, and what to report to its user. */
export type RenderedBalancer = { readonly mistakes: readonly string[]; readonly notes: readonly Note[] } & (
  | {
      readonly ok: true;
      /** The next stage towards the desired load balancer. Parts with a mistake are as they exist. */
      readonly spec: LoadBalancerSpec;
      /** What exists of it, without the foreign parts that the Service does not ask for. */
      readonly existing?: LoadBalancerState;
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
  const settings = checkSettings(service, parsed, { ...context, foreign: besidesPorts(service, context.foreign) });
  const notes = [...settings.notes, ...adviseOn(service, settings)];
  const place = placeOf(settings.options, context.existing);
  if (!place || (settings.mistakes.length > 0 && !context.existing))
    return { ok: false, mistakes: settings.mistakes, notes };

  const { wanted, existing, foreign, refused, ...rendered } = renderBeside(service, settings, { ...context, place });
  const mistakes = [...settings.mistakes, ...refused];
  // An adoption that serves no port would only add the cluster's nodes to the targets of others.
  if (context.takeover && refused.length > 0 && wanted.listeners.length === 0) return { ok: false, mistakes, notes };
  const room = existing && roomOf(wanted.type, existing.type, { ...context, foreign });
  const allNotes = [
    ...notes,
    ...adviseOnBalancer(settings, wanted, context),
    ...limitNotes(rendered.beyondLimit, wanted.type),
    ...foreignNotes(foreign),
    ...certificateNotes(rendered.certificates),
  ];
  return {
    ok: true,
    spec: existing && room ? nextStage(wanted, existing, room) : wanted,
    ...(existing && { existing }),
    settings,
    mistakes,
    notes: allNotes,
    leftOut: rendered.leftOut,
    certificates: rendered.certificates,
  };
}

/**
 * What the Service asks for beside the foreign parts of its load balancer. A foreign part that is exactly what the Service
 * asks for counts as existing; a port on which there is another listener is refused. A load balancer with other foreign
 * parts has other users: its own fields stay as they are.
 */
function renderBeside(service: V1Service, settings: ServiceSettings, context: PlacedContext) {
  const { foreign: marked = NOTHING_FOREIGN, existing, listed = existing } = context;
  const whole = renderWanted(service, settings, context);
  if (!listed) return { ...whole, existing, foreign: NOTHING_FOREIGN, refused: [] };
  const foreign = differingParts(marked, whole.wanted, listed);
  const rendered = foreign.size === 0 ? whole : renderWanted(service, withFixedFields(settings), context);
  const { wanted } = rendered;
  const network = foreign.size > 0 && listed.network ? undefined : wanted.network;
  const { network: _, ...fields } = wanted;
  return {
    ...rendered,
    wanted: withoutForeign({ ...fields, ...(network && { network }) }, foreign),
    existing: withoutForeign(listed, foreign),
    foreign,
    refused: wanted.listeners
      .filter(({ listenPort }) => foreign.has(listenerPart(listenPort)))
      .map(({ listenPort }) => collision(listenPort, listed)),
  };
}

function collision(port: number, { name, id }: LoadBalancerState): string {
  return `port ${port} is not served: load balancer "${name}" (id ${id}) already had another listener on it when this Service adopted it: delete that listener from the load balancer, or use another port`;
}

const FIXED = [
  "type",
  "algorithm",
  "deleteProtection",
  "ipv4Rdns",
  "ipv6Rdns",
  "disablePublicNetwork",
  "privateIpv4",
  "privateSubnet",
] as const;

/** The settings with which the load balancer's own fields stay as they are. */
function withFixedFields(settings: ServiceSettings): ServiceSettings {
  const { name: _, ...options } = settings.options;
  return { ...settings, options, broken: new Set([...settings.broken, ...FIXED]) };
}

/** Foreign parts besides listeners on the Service's own ports, which need no place of their own. */
function besidesPorts(service: V1Service, foreign: ForeignParts = NOTHING_FOREIGN): ForeignParts {
  const ports = new Set(tcpPorts(service).map(({ port }) => listenerPart(port)));
  return new Set([...foreign].filter((part) => !ports.has(part)));
}

function certificateNotes({ problems }: CertificatePlan): readonly Note[] {
  return problems.length === 0 ? [] : [{ reason: "CertificateNotReady", message: problems.join("; ") }];
}

/** An existing load balancer stays where it is; a new one needs a location or network zone. */
function placeOf(options: ServiceOptions, existing?: LoadBalancerState): LoadBalancerSpec["place"] | undefined {
  if (existing) return { location: existing.location };
  if (options.location) return { location: options.location };
  return options.networkZone ? { networkZone: options.networkZone } : undefined;
}

/** More nodes than the type allows targets (HCCM T4). Names only some, because the length of an Event is limited. */
function limitNotes(nodes: readonly string[], type: string): readonly Note[] {
  if (nodes.length === 0) return [];
  const shown = nodes.slice(0, 20).join(", ") + (nodes.length > 20 ? ` and ${nodes.length - 20} more` : "");
  const message = `type ${type} has no room for ${nodes.length} of the nodes: ${shown}; choose a larger type, or fewer nodes with annotation load-balancer.hetzner.cloud/node-selector`;
  return [{ reason: "MaxTargetsReached", message }];
}

function foreignNotes(foreign: ForeignParts): readonly Note[] {
  if (foreign.size === 0) return [];
  const message = `${[...foreign].slice(0, 20).join(", ")} were on the load balancer before this Service adopted it, and are left unchanged; so are its name, type, algorithm, networks and reverse DNS`;
  return [{ reason: "ForeignPartsKept", message }];
}
