/** A Service and the nodes → the balancer it wants. Everything is checked before anything is touched. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../stacks/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../stacks/spec.ts";
import type { Server } from "../hcloud/api.ts";
import { PREFIX, parseAnnotations, type ServiceOptions } from "./annotations.ts";
import { parseLabelSelector } from "./label-selector.ts";
import { renderListeners, tcpPorts } from "./listeners.ts";
import { serviceRef } from "./ours.ts";
import { renderTargets, type Targets } from "./targets.ts";

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

export type RenderedBalancer =
  | {
      readonly ok: true;
      readonly spec: LoadBalancerSpec;
      readonly options: ServiceOptions;
      readonly notes: readonly string[];
      readonly leftOut: Targets["leftOut"];
    }
  /** The Service keeps what it has. */
  | { readonly ok: false; readonly mistakes: readonly string[] };

/** The official controller's default, with which users of no configuration at all have been served. */
const DEFAULT_TYPE = "lb11";

/** The balancer of a Service, or every mistake that keeps it from being rendered. */
export function renderLoadBalancer(service: V1Service, context: BalancerContext): RenderedBalancer {
  const { options, mistakes } = parseAnnotations(service.metadata?.annotations ?? {}, context.defaults);
  const selector = parseLabelSelector(options.nodeSelector ?? "");
  const place = placeOf(options, context.present);
  const found = [...mistakes, ...conflicts(options, context, place !== undefined), ...unreachable(service)];
  if (!selector)
    found.push(
      `annotation ${PREFIX}node-selector: ${JSON.stringify(options.nodeSelector?.slice(0, 80))} is not a label selector`,
    );
  if (!selector || !place || found.length > 0) return { ok: false, mistakes: found };

  const { networkId, present, robots = false } = context;
  const usePrivateIp = options.usePrivateIp ?? false;
  const targetOptions = { selector, usePrivateIp, robots, ...(networkId !== undefined && { networkId }) };
  const { targets, leftOut } = renderTargets(context.nodes, context.servers, targetOptions);
  const service_ = serviceRef(service);
  const spec: LoadBalancerSpec = {
    kind: "load-balancer",
    service: service_,
    name: options.name || defaultName(service_.uid),
    type: options.type || (present?.type ?? DEFAULT_TYPE),
    place,
    algorithm: options.algorithm ?? "round_robin",
    labels: { ...present?.labels, [SERVICE_UID_LABEL]: service_.uid },
    deleteProtection: present?.deleteProtection ?? false,
    ...(networkId !== undefined && {
      network: {
        networkId,
        publicInterface: !(options.disablePublicNetwork ?? false),
        ...(options.privateIpv4 !== undefined && { ip: options.privateIpv4 }),
      },
    }),
    listeners: renderListeners(service, options),
    targets,
  };
  return { ok: true, spec, options, notes: unsupported(service), leftOut };
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

/** Mistakes that no single option makes. */
function conflicts(options: ServiceOptions, { networkId }: BalancerContext, hasPlace: boolean): string[] {
  const mistakes: string[] = [];
  if (!hasPlace) {
    mistakes.push(
      `neither annotation ${PREFIX}location nor ${PREFIX}network-zone is set: set one of them, or HCLOUD_LOAD_BALANCERS_LOCATION for all Services`,
    );
  }
  if (networkId === undefined) {
    const needNetwork = {
      "use-private-ip": options.usePrivateIp,
      "disable-public-network": options.disablePublicNetwork,
      "private-ipv4": options.privateIpv4,
    };
    for (const [annotation, value] of Object.entries(needNetwork)) {
      if (value) mistakes.push(`annotation ${PREFIX}${annotation}: needs a network, and HCLOUD_NETWORK is not set`);
    }
  }
  if (options.protocol === "https") {
    mistakes.push(`annotation ${PREFIX}protocol: https needs certificates, which this version does not support yet`);
  }
  if (options.redirectHttp && options.protocol !== "https") {
    mistakes.push(`annotation ${PREFIX}http-redirect-http: needs protocol https`);
  }
  return mistakes;
}

/** A balancer reaches a port through its node port; a Service may have been told to allocate none. */
function unreachable(service: V1Service): readonly string[] {
  return tcpPorts(service)
    .filter(({ nodePort }) => !nodePort)
    .map(({ port }) => `port ${port} has no node port: set allocateLoadBalancerNodePorts, or give it a nodePort`);
}

/** Wishes that the provider cannot fulfil. The rest of the Service is served. */
function unsupported(service: V1Service): readonly string[] {
  const others = (service.spec?.ports ?? []).filter((port) => !tcpPorts(service).includes(port));
  return others.map(({ port, protocol }) => `port ${port}/${protocol} is left out: Hetzner balancers forward TCP only`);
}
