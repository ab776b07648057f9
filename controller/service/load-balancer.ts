/** A Service and the nodes → the balancer it wants. Everything is checked before anything is touched. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../stacks/names.ts";
import type { LoadBalancerSpec, LoadBalancerState, NetworkAttachment } from "../../stacks/spec.ts";
import type { Server } from "../hcloud/api.ts";
import type { ServiceOptions } from "./annotations.ts";
import { checkSettings } from "./checks.ts";
import { parseLabelSelector } from "./label-selector.ts";
import { renderListeners, tcpPorts } from "./listeners.ts";
import type { Note } from "./notes.ts";
import { serviceRef } from "./ours.ts";
import { parseSettings, type Settings } from "./settings.ts";
import { isSameTarget, renderTargets, type Targets } from "./targets.ts";

/** What surrounds a Service when its balancer is rendered. */
export interface BalancerContext {
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  readonly defaults: ServiceOptions;
  readonly networkId?: number;
  /** Whether dedicated servers are targets. */
  readonly robots?: boolean;
  /** The balancer that exists for the Service, if one does. */
  readonly present?: LoadBalancerState;
}

/** What a Service gets, and what its user should hear. */
export type RenderedBalancer = { readonly mistakes: readonly string[]; readonly notes: readonly Note[] } & (
  | {
      readonly ok: true;
      /** Where a mistake was made it says what the balancer has. */
      readonly spec: LoadBalancerSpec;
      readonly settings: Settings;
      readonly leftOut: Targets["leftOut"];
    }
  /** Nothing exists yet, and nothing is made with a mistake in it. */
  | { readonly ok: false }
);

/** The official controller's default, with which users of no configuration at all have been served. */
const DEFAULT_TYPE = "lb11";

/**
 * The balancer of a Service. With mistakes, an existing one keeps what they are about and follows in the rest, its nodes
 * above all; a new one is not made.
 */
export function renderLoadBalancer(service: V1Service, context: BalancerContext): RenderedBalancer {
  const annotations = service.metadata?.annotations ?? {};
  const parsed = parseSettings(annotations, tcpPorts(service), context.defaults);
  const settings = checkSettings(service, parsed, context);
  const { mistakes } = settings;
  const notes = [...settings.notes, ...unsupported(service)];
  const { present } = context;
  const place = placeOf(settings.options, present);
  if (!place || (mistakes.length > 0 && !present)) return { ok: false, mistakes, notes };

  const ref = serviceRef(service);
  const { targets, leftOut } = targetsOf(settings, context);
  const network = attachmentOf(settings, context);
  const spec: LoadBalancerSpec = {
    kind: "load-balancer",
    service: ref,
    place,
    ...fieldsOf(settings, ref.uid, present),
    ...(network && { network }),
    listeners: renderListeners(service, settings, present?.listeners),
    targets,
  };
  return { ok: true, spec, settings, mistakes, notes, leftOut };
}

/** `a` and the uid without dashes, cut to 32 characters: the framework's name, by which an existing balancer is found. */
export function defaultName(uid: string): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/** An existing balancer stays where it is; a new one needs to be told where to go. */
function placeOf(
  options: ServiceOptions,
  present: LoadBalancerState | undefined,
): LoadBalancerSpec["place"] | undefined {
  if (present) return { location: present.location };
  if (options.location) return { location: options.location };
  return options.networkZone ? { networkZone: options.networkZone } : undefined;
}

/** The balancer's own fields. Those with a mistake, and those that are not ours to reset, stay as they are. */
function fieldsOf(
  { options, broken }: Settings,
  uid: string,
  present: LoadBalancerState | undefined,
): Pick<LoadBalancerSpec, "name" | "type" | "algorithm" | "labels" | "deleteProtection"> {
  const algorithm = options.algorithm ?? "round_robin";
  return {
    name: options.name || (present?.name ?? defaultName(uid)),
    type: options.type || (present?.type ?? DEFAULT_TYPE),
    algorithm: broken.has("algorithm") ? (present?.algorithm ?? algorithm) : algorithm,
    labels: { ...present?.labels, [SERVICE_UID_LABEL]: uid },
    deleteProtection: present?.deleteProtection ?? false,
  };
}

function attachmentOf(
  { options, broken }: Settings,
  { networkId, present }: BalancerContext,
): NetworkAttachment | undefined {
  if (networkId === undefined) return undefined;
  const isPublic = !(options.disablePublicNetwork ?? false);
  return {
    networkId,
    publicInterface: broken.has("disablePublicNetwork") ? (present?.publicInterface ?? isPublic) : isPublic,
    ...(options.privateIpv4 !== undefined && { ip: options.privateIpv4 }),
  };
}

/** With a selector that cannot be read, targets may leave with their nodes, but none may join. */
function targetsOf({ options, broken }: Settings, context: BalancerContext): Targets {
  const { networkId, present, robots = false } = context;
  const isPrivate = present?.targets.find((target) => target.kind === "server")?.usePrivateIp ?? false;
  const rendered = renderTargets(context.nodes, context.servers, {
    selector: parseLabelSelector(options.nodeSelector ?? "") ?? (() => true),
    usePrivateIp: broken.has("usePrivateIp") ? isPrivate : (options.usePrivateIp ?? false),
    robots,
    ...(networkId !== undefined && { networkId }),
  });
  if (!broken.has("nodeSelector")) return rendered;
  const isPresent = (target: Targets["targets"][number]) =>
    present?.targets.some((other) => isSameTarget(target, other)) ?? false;
  return { ...rendered, targets: rendered.targets.filter(isPresent) };
}

/** Wishes that the provider cannot fulfil. The rest of the Service is served. */
function unsupported(service: V1Service): readonly Note[] {
  const others = (service.spec?.ports ?? []).filter((port) => !tcpPorts(service).includes(port));
  if (others.length === 0) return [];
  const message = others
    .map(({ port, protocol }) => `port ${port}/${protocol} is left out: Hetzner balancers forward TCP only`)
    .join("; ");
  return [{ reason: "UnsupportedProtocolConfigured", message }];
}
