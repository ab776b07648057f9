/** Builders of plain objects for tests. Everything has a default, so that a test states only what matters to it. */
import type {
  V1LoadBalancerIngress,
  V1Node,
  V1NodeAddress,
  V1NodeCondition,
  V1Service,
  V1ServicePort,
  V1Taint,
} from "@kubernetes/client-node";
import type {
  LoadBalancer,
  LoadBalancerService,
  LoadBalancerTarget,
  Network,
  Server,
} from "../../controller/hcloud/api.ts";
import type { RenderOptions } from "../../controller/render/cluster.ts";
import type { OptionName, ServiceOptions } from "../../controller/render/service/options/annotations.ts";
import type { ServiceSettings } from "../../controller/render/service/options/settings.ts";
import type { ListenerSpec, LoadBalancerSpec, LoadBalancerState, RouteSpec } from "../../stacks/units/spec.ts";

/** The network that builders use for private addresses. */
export const NETWORK_ID = 7;

/** The default UID of a Service. */
export const UID = "0c7e1a52-9d3b-4f60-8a71-5b2e6f4d9c18";

/** Annotations of a Service, with the prefix that tests omit. */
export function prefixed(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [`load-balancer.hetzner.cloud/${key}`, value]),
  );
}

/** Settings for rendering: load balancers in fsn1, no routes, no network. */
export function aRenderOptions(given: Partial<RenderOptions> = {}): RenderOptions {
  return { addressFamily: "ipv4", zoneLabel: true, defaults: { location: "fsn1" }, clusterCidrs: [], ...given };
}

/**
 * A Service of type `LoadBalancer`. A number is a TCP port with node port 30000 + port. Annotations omit the prefix.
 */
export function aService(
  given: {
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly type?: string;
    readonly loadBalancerClass?: string;
    readonly ports?: readonly (number | V1ServicePort)[];
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly isDeleted?: boolean;
    readonly ingress?: readonly V1LoadBalancerIngress[];
  } = {},
): V1Service {
  const { namespace = "default", name = "web", uid = UID, type = "LoadBalancer", ports = [80] } = given;
  return {
    metadata: {
      namespace,
      name,
      uid,
      annotations: prefixed(given.annotations ?? {}),
      ...(given.finalizers && { finalizers: [...given.finalizers] }),
      ...(given.isDeleted && { deletionTimestamp: new Date(0) }),
    },
    spec: {
      type,
      ports: ports.map((port) =>
        typeof port === "number" ? { port, nodePort: 30_000 + port, protocol: "TCP" } : port,
      ),
      ...(given.loadBalancerClass !== undefined && { loadBalancerClass: given.loadBalancerClass }),
    },
    ...(given.ingress && { status: { loadBalancer: { ingress: [...given.ingress] } } }),
  };
}

/** An initialised node. `id` is that of its server; without it, there is no providerID. */
export function aNode(
  given: {
    readonly name?: string;
    readonly id?: number;
    readonly providerID?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly taints?: readonly V1Taint[];
    readonly podCIDRs?: readonly string[];
    readonly addresses?: readonly V1NodeAddress[];
    readonly conditions?: readonly V1NodeCondition[];
    /** Status of the Ready condition; absent if undefined. */
    readonly ready?: "True" | "False" | "Unknown";
    readonly isDeleted?: boolean;
    readonly created?: Date;
  } = {},
): V1Node {
  const name = given.name ?? (given.id === undefined ? "node" : `node-${given.id}`);
  const providerID = given.providerID ?? (given.id === undefined ? undefined : `hcloud://${given.id}`);
  return {
    metadata: {
      name,
      uid: `uid-of-${name}`,
      ...(given.created && { creationTimestamp: given.created }),
      resourceVersion: "1",
      ...(given.labels && { labels: { ...given.labels } }),
      ...(given.annotations && { annotations: { ...given.annotations } }),
      ...(given.isDeleted && { deletionTimestamp: new Date(0) }),
    },
    spec: {
      ...(providerID !== undefined && { providerID }),
      ...(given.taints && { taints: [...given.taints] }),
      ...(given.podCIDRs && { podCIDRs: [...given.podCIDRs] }),
    },
    status: {
      ...(given.addresses && { addresses: [...given.addresses] }),
      ...((given.conditions || given.ready) && {
        conditions: [...(given.conditions ?? []), ...(given.ready ? [{ type: "Ready", status: given.ready }] : [])],
      }),
    },
  };
}

/** A running server with public addresses. `privateIp` attaches it to the network. Null removes an address. */
export function aServer(
  given: {
    readonly id?: number;
    readonly name?: string;
    readonly type?: string;
    readonly location?: string;
    readonly ipv4?: string | null;
    readonly ipv6?: string | null;
    readonly privateIp?: string;
    readonly privateNets?: Server["private_net"];
    readonly status?: string;
    readonly labels?: Readonly<Record<string, string>>;
  } = {},
): Server {
  const { id = 1, name = `node-${id}`, type = "cx22", location = "fsn1" } = given;
  const { ipv4 = id < 256 ? `203.0.113.${id}` : `198.18.${id >> 8}.${id % 256}`, ipv6 = `2001:db8:${id}::/64` } = given;
  const attached = given.privateIp === undefined ? [] : [{ network: NETWORK_ID, ip: given.privateIp }];
  return {
    id,
    name,
    status: given.status ?? "running",
    labels: given.labels ?? {},
    server_type: { name: type },
    location: { name: location, network_zone: "eu-central" },
    public_net: { ipv4: ipv4 === null ? null : { ip: ipv4 }, ipv6: ipv6 === null ? null : { ip: ipv6 } },
    private_net: given.privateNets ?? attached,
  };
}

export function aNetwork(given: Partial<Network> = {}): Network {
  return {
    id: NETWORK_ID,
    name: "cluster",
    ip_range: "10.0.0.0/8",
    subnets: [{ ip_range: "10.0.0.0/16", network_zone: "eu-central" }],
    routes: [],
    ...given,
  };
}

/** A load balancer as listed by the API: public, empty and without an owner. */
export function aBalancer(
  given: Partial<Omit<LoadBalancer, "public_net">> & {
    readonly ipv4?: string | null;
    readonly ipv6?: string | null;
    readonly isPublic?: boolean;
    readonly rdns?: { readonly ipv4?: string; readonly ipv6?: string };
  } = {},
): LoadBalancer {
  const { ipv4 = "198.51.100.1", ipv6 = "2001:db8:ffff::1", isPublic = true, rdns = {}, ...fields } = given;
  return {
    id: 42,
    name: "balancer",
    labels: {},
    location: { name: "fsn1", network_zone: "eu-central" },
    load_balancer_type: { name: "lb11" },
    algorithm: { type: "round_robin" },
    protection: { delete: false },
    private_net: [],
    services: [],
    targets: [],
    ...fields,
    public_net: {
      enabled: isPublic,
      ipv4: { ip: ipv4, dns_ptr: rdns.ipv4 ?? null },
      ipv6: { ip: ipv6, dns_ptr: rdns.ipv6 ?? null },
    },
  };
}

/** A TCP listener as listed by the API, with its defaults. */
export function aBalancerService(listenPort: number, given: Partial<LoadBalancerService> = {}): LoadBalancerService {
  const destination = 30_000 + listenPort;
  return {
    protocol: "tcp",
    listen_port: listenPort,
    destination_port: destination,
    proxyprotocol: false,
    health_check: { protocol: "tcp", port: destination, interval: 15, timeout: 10, retries: 3 },
    ...given,
  };
}

export function aServerTarget(id: number, usePrivateIp = false): LoadBalancerTarget {
  return { type: "server", server: { id }, use_private_ip: usePrivateIp };
}

/** The listener of a TCP port without settings. */
export function aListener(listenPort: number, given: Partial<ListenerSpec> = {}): ListenerSpec {
  const destinationPort = 30_000 + listenPort;
  return {
    listenPort,
    destinationPort,
    protocol: "tcp",
    proxyProtocol: false,
    healthCheck: { protocol: "tcp", port: destinationPort, intervalSeconds: 15, timeoutSeconds: 10, retries: 3 },
    ...given,
  };
}

/** The spec of the load balancer of `aService()`: public and empty. */
export function aBalancerSpec(given: Partial<LoadBalancerSpec> = {}): LoadBalancerSpec {
  return {
    kind: "load-balancer",
    service: { namespace: "default", name: "web", uid: UID },
    name: "balancer",
    type: "lb11",
    place: { location: "fsn1" },
    algorithm: "round_robin",
    labels: { "hcloud-ccm/service-uid": UID },
    deleteProtection: false,
    listeners: [],
    targets: [],
    ...given,
  };
}

/** A state that matches `aBalancerSpec()`. */
export function aBalancerState(given: Partial<LoadBalancerState> = {}): LoadBalancerState {
  return {
    kind: "load-balancer",
    id: 42,
    name: "balancer",
    type: "lb11",
    location: "fsn1",
    networkZone: "eu-central",
    algorithm: "round_robin",
    labels: { "hcloud-ccm/service-uid": UID },
    deleteProtection: false,
    publicInterface: true,
    ipv4: "198.51.100.1",
    ipv6: "2001:db8:ffff::1",
    listeners: [],
    targets: [],
    ...given,
  };
}

export function aRoute(destination: string, gateway: string): RouteSpec {
  return { kind: "route", networkId: NETWORK_ID, destination, gateway };
}

/** Settings of a Service, for all of its ports. */
export function someSettings(options: ServiceOptions = {}, broken: readonly OptionName[] = []): ServiceSettings {
  return { options, sources: {}, broken: new Set(broken), ports: new Map(), mistakes: [], notes: [] };
}
