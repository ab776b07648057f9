/** Every Event that the controller writes, by reason. docs/reference/events.md is generated from this table. */

interface EventDefinition {
  readonly type: "Normal" | "Warning";
  readonly on: readonly ("Service" | "Node" | "Lease")[];
  /** The corresponding controller in Kubernetes' cloud-controller-manager. */
  readonly component: keyof typeof COMPONENTS;
  /** When it is written, and what to do about it. */
  readonly meaning: string;
  /** Warnings that this Event ends: when they recur, they are written again. */
  readonly ends?: readonly string[];
}

const COMPONENTS = {
  "service-controller": "Services",
  "cloud-node-controller": "Nodes",
  "cloud-node-lifecycle-controller": "Nodes that are not Ready",
  route_controller: "Routes",
  "cloud-controller-manager": "Leader election",
} as const;

const service = (type: EventDefinition["type"], meaning: string, ends: readonly string[] = []) =>
  ({ type, on: ["Service"], component: "service-controller", meaning, ends }) as const;
const node = (type: EventDefinition["type"], meaning: string, ends: readonly string[] = []) =>
  ({ type, on: ["Node"], component: "cloud-node-controller", meaning, ends }) as const;
const lifecycle = (type: EventDefinition["type"], meaning: string) =>
  ({ type, on: ["Node"], component: "cloud-node-lifecycle-controller", meaning }) as const;
const route = (meaning: string, on: EventDefinition["on"] = ["Node"]) =>
  ({ type: "Warning", on, component: "route_controller", meaning }) as const;

export const EVENTS = {
  EnsuringLoadBalancer: service("Normal", "The load balancer is about to be created or changed."),
  EnsuredLoadBalancer: service("Normal", "The load balancer matches the Service.", ["SyncLoadBalancerFailed"]),
  UpdatedLoadBalancer: service("Normal", "Targets were added or removed; nothing else changed."),
  DeletingLoadBalancer: service("Normal", "The load balancer is no longer needed and about to be deleted."),
  DeletedLoadBalancer: service("Normal", "The load balancer no longer exists."),
  AdoptingLoadBalancer: service(
    "Normal",
    "An existing load balancer that belongs to no Service of this cluster is taken over.",
  ),
  KeepingLoadBalancer: service("Normal", "The load balancer is no longer needed but kept; the message says why."),
  LoadBalancerKept: service(
    "Normal",
    "The load balancer still exists, but no longer belongs to the Service or to any other. A Warning when delete protection is the reason: disable it in the Hetzner project and delete the load balancer there.",
  ),
  PlanPending: {
    ...service("Normal", "A change waits for approval. Review it with `lotse approve`."),
    on: ["Service", "Node"],
  },
  SyncLoadBalancerFailed: service(
    "Warning",
    "Something is wrong with the Service, or a change failed. The message lists every mistake; correct the annotations or fields it names. Failed changes are retried.",
  ),
  UpdateLoadBalancerFailed: service("Warning", "Targets could not be added or removed. Retried."),
  SyncCertificateFailed: service("Warning", "A certificate could not be created or removed. Retried."),
  CertificateNotReady: service(
    "Warning",
    "An HTTPS port has no usable certificate: it does not exist, is not issued yet, or could not be renewed. The listener follows once there is one.",
  ),
  LoadBalancerDrifted: service(
    "Warning",
    "Something other than Lotse changed or deleted the load balancer or a certificate. The message lists what; it is being repaired. The count is the number of repairs.",
  ),
  LoadBalancerTypeUnconfigured: service(
    "Warning",
    "No type is set, so the default is used. Set the annotation `type`.",
  ),
  LoadBalancerTypeDeprecated: service("Warning", "Hetzner will remove this load balancer type. Choose another."),
  LoadBalancerNotMoved: service(
    "Warning",
    "The location or network zone changed, but an existing load balancer cannot move. Delete the Service to recreate it.",
  ),
  UnknownAnnotation: service("Warning", "An annotation is misspelt or unknown, and has no effect."),
  UnsupportedProtocolConfigured: service("Warning", "A port is not TCP. Hetzner load balancers forward TCP only."),
  UnsupportedFieldConfigured: service("Warning", "The Service sets a field that Hetzner load balancers cannot honour."),
  HealthCheckOverridden: service(
    "Warning",
    "`externalTrafficPolicy: Local` needs kube-proxy's health check; an annotation overrides it.",
  ),
  MaxTargetsReached: service("Warning", "The type allows fewer targets than there are Nodes. Choose a larger type."),
  TargetLeftOut: service("Warning", "A Node is not a target; the message says why."),
  UnAvailableLoadBalancer: service("Warning", "The load balancer has no targets: no Node qualifies."),
  ForeignPartsKept: service(
    "Warning",
    "The load balancer had listeners or targets before the Service adopted it. They stay, and so do its other settings, and the load balancer when the Service is deleted.",
  ),

  Synced: node("Normal", "The Node is initialised.", ["InitializationFailed", "InvalidExternalIPv6"]),
  InitializationFailed: node(
    "Warning",
    "The Node cannot be initialised and keeps its taint. The message names the server that was probably meant, and the remedy.",
  ),
  SyncFailed: node("Warning", "The Node's labels and addresses cannot be kept up to date; the message says why."),
  UnknownProviderIDPrefix: node(
    "Warning",
    "The Node's providerID belongs to another cloud provider, so Lotse leaves the Node alone.",
  ),
  InvalidExternalIPv6: node("Warning", "The annotation `instance.hetzner.cloud/external-ipv6` is not usable."),
  IgnoredExternalIPv6: node(
    "Warning",
    "The annotation is ignored, because Nodes get no IPv6 address: set `HCLOUD_INSTANCES_ADDRESS_FAMILY`.",
  ),
  InternalIPRemoved: node("Warning", "The server left the cluster's network, so the Node lost its internal address."),
  MisconfiguredInternalIP: node("Warning", "The internal address of a dedicated server's Node is not usable."),
  RobotNameMismatch: node("Warning", "Robot knows the dedicated server by another name. The Node is kept."),
  ServerNotListed: node(
    "Warning",
    "The Node is Ready, but the API does not list its server. Targets and routes stay until the list is complete.",
  ),

  DeletingNode: lifecycle("Normal", "The Node's server no longer exists, so the Node is deleted."),
  DeletingNodeFailed: lifecycle("Warning", "The Node could not be deleted. Retried."),
  NodeDeletionHeldBack: lifecycle(
    "Warning",
    "The Node's server is not listed, but the Node is kept; the message says why.",
  ),

  RouteDrifted: route("Something other than Lotse changed or deleted a route of the Node. It is being repaired."),
  FailedToCreateRoute: route("The Node's pod range has no route; the message says why. Retried."),
  ClusterCIDRMisconfigured: route(
    "The Node's pod range is outside `--cluster-cidr`. No route is created for it, and existing ones there are never touched.",
  ),
  RemovalsHeldBack: route(
    "Many routes or targets would be removed, or load balancers moved to another network or subnet, although no object asked for it. Check the project and the token; if it is intended, restart with a higher `--guard-removals`.",
    ["Service", "Node"],
  ),

  LeaderElection: {
    type: "Normal",
    on: ["Lease"],
    component: "cloud-controller-manager",
    meaning: "A replica became the leader, or stopped leading.",
  },
} as const satisfies Readonly<Record<string, EventDefinition>>;

export type EventReason = keyof typeof EVENTS;

/** The definition behind a reason. */
export function eventOf(reason: EventReason): EventDefinition {
  return EVENTS[reason];
}
