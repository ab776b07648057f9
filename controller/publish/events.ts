/** Every Event that the controller writes, by reason. docs/reference/events.md is generated from this table. */

interface EventDefinition {
  readonly type: "Normal" | "Warning";
  readonly on: readonly ("Service" | "Node" | "Lease")[];
  /** The corresponding controller in Kubernetes' cloud-controller-manager. */
  readonly component: string;
  /** When it is written, and what to do about it. */
  readonly meaning: string;
  /** Warnings that this Event ends: when they recur, they are written again. */
  readonly ends: readonly string[];
}

/** Starts the rows of a controller whose Events are on these objects. */
function eventsOf(component: string, ...on: EventDefinition["on"]) {
  const define = (type: EventDefinition["type"], meaning: string, ends: readonly string[]): EventDefinition => {
    return { type, on, component, meaning, ends };
  };
  return {
    normal: (meaning: string, ends: readonly string[] = []) => define("Normal", meaning, ends),
    warning: (meaning: string, ends: readonly string[] = []) => define("Warning", meaning, ends),
  };
}

const service = eventsOf("service-controller", "Service");
const node = eventsOf("cloud-node-controller", "Node");
const lifecycle = eventsOf("cloud-node-lifecycle-controller", "Node");
const route = eventsOf("route_controller", "Node");

export const EVENTS = {
  EnsuringLoadBalancer: service.normal("The load balancer is about to be created or changed."),
  EnsuredLoadBalancer: service.normal("The load balancer matches the Service.", ["SyncLoadBalancerFailed"]),
  UpdatedLoadBalancer: service.normal("Targets were added or removed; nothing else changed."),
  DeletingLoadBalancer: service.normal("The load balancer is no longer needed and about to be deleted."),
  DeletedLoadBalancer: service.normal("The load balancer no longer exists."),
  AdoptingLoadBalancer: service.normal(
    "An existing load balancer that belongs to no Service of this cluster is taken over.",
  ),
  KeepingLoadBalancer: service.normal("The load balancer is no longer needed but kept; the message says why."),
  LoadBalancerKept: service.normal(
    "The load balancer still exists, but no longer belongs to the Service or to any other. A Warning when delete protection is the reason: disable it in the Hetzner project and delete the load balancer there.",
  ),
  PlanPending: eventsOf("service-controller", "Service", "Node").normal(
    "A change waits for approval. Review it with `lotse approve`.",
  ),
  SyncLoadBalancerFailed: service.warning(
    "Something is wrong with the Service, or a change failed. The message lists every mistake; correct the annotations or fields it names. Failed changes are retried.",
  ),
  UpdateLoadBalancerFailed: service.warning("Adding or removing targets failed, and is retried."),
  SyncCertificateFailed: service.warning("Creating or removing a certificate failed, and is retried."),
  CertificateNotReady: service.warning(
    "An HTTPS port has no usable certificate: it does not exist, is not issued yet, or could not be renewed. The listener is created or updated once it has one.",
  ),
  LoadBalancerDrifted: service.warning(
    "Something other than Lotse changed or deleted the load balancer or a certificate. The message lists what; it is being repaired. The count is the number of repairs.",
  ),
  LoadBalancerTypeUnconfigured: service.warning("No type is set, so the default is used. Set the annotation `type`."),
  LoadBalancerTypeDeprecated: service.warning("Hetzner will remove this load balancer type. Choose another."),
  LoadBalancerNotMoved: service.warning(
    "The location or network zone changed, but an existing load balancer cannot move. Delete the Service to recreate it.",
  ),
  UnknownAnnotation: service.warning("An annotation is misspelt or unknown, and has no effect."),
  UnsupportedProtocolConfigured: service.warning("A port is not TCP. Hetzner load balancers forward TCP only."),
  UnsupportedFieldConfigured: service.warning("The Service sets a field that Hetzner load balancers cannot honour."),
  HealthCheckOverridden: service.warning(
    "`externalTrafficPolicy: Local` needs kube-proxy's health check; an annotation overrides it.",
  ),
  MaxTargetsReached: service.warning("The type allows fewer targets than there are Nodes. Choose a larger type."),
  TargetLeftOut: service.warning("A Node is not a target; the message says why."),
  UnAvailableLoadBalancer: service.warning("The load balancer has no targets: no Node qualifies."),
  ForeignPartsKept: service.warning(
    "The load balancer had listeners or targets before the Service adopted it. They stay, its other settings stay, and the load balancer outlives the Service.",
  ),

  Synced: node.normal("The Node is initialised.", ["InitializationFailed", "InvalidExternalIPv6"]),
  InitializationFailed: node.warning(
    "The Node cannot be initialised and keeps its taint. The message names the server that was probably meant, and the remedy.",
  ),
  SyncFailed: node.warning("The Node's labels and addresses cannot be kept up to date; the message says why."),
  UnknownProviderIDPrefix: node.warning(
    "The Node's providerID belongs to another cloud provider, so Lotse leaves the Node alone.",
  ),
  InvalidExternalIPv6: node.warning("The annotation `instance.hetzner.cloud/external-ipv6` is not usable."),
  IgnoredExternalIPv6: node.warning(
    "The annotation `instance.hetzner.cloud/external-ipv6` is ignored, because Nodes get no IPv6 address: set `HCLOUD_INSTANCES_ADDRESS_FAMILY`.",
  ),
  InternalIPRemoved: node.warning("The server left the cluster's network, so the Node lost its internal address."),
  MisconfiguredInternalIP: node.warning("The internal address of a dedicated server's Node is not usable."),
  RobotNameMismatch: node.warning("Robot knows the dedicated server by another name. The Node is kept."),
  ServerNotListed: node.warning(
    "The Node is Ready, but the API does not list its server. Targets and routes stay until the list is complete.",
  ),

  DeletingNode: lifecycle.normal("The Node's server no longer exists, so the Node is deleted."),
  DeletingNodeFailed: lifecycle.warning("Deleting the Node failed, and is retried."),
  NodeDeletionHeldBack: lifecycle.warning(
    "The Node's server is not listed, but the Node is kept; the message says why.",
  ),

  RouteDrifted: route.warning(
    "Something other than Lotse changed or deleted a route of the Node. It is being repaired.",
  ),
  FailedToCreateRoute: route.warning(
    "The Node's pod range has no route; the message says why. Creating it is retried.",
  ),
  ClusterCIDRMisconfigured: route.warning(
    "The Node's pod range is outside `--cluster-cidr`. No route is created for it, and existing routes in such a range are never touched.",
  ),
  RemovalsHeldBack: eventsOf("route_controller", "Service", "Node").warning(
    "Many routes or targets would be removed, or load balancers moved to another network or subnet, although no object asks for it. Check the project and the token; if the removals are intended, restart with a higher `--guard-removals`.",
  ),

  LeaderElection: eventsOf("cloud-controller-manager", "Lease").normal(
    "A replica became the leader, or stopped leading.",
  ),
};

export type EventReason = keyof typeof EVENTS;
