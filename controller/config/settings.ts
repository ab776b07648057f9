/** Every setting of `lotse run`: flag or variable, syntax, default and one-line doc. To add a setting, add a row. */

import { boolean, integer, oneOf } from "../formats/values.ts";
import { GUARD_LIMITS } from "../guard/guard.ts";
import { servedClasses } from "../render/service/ours.ts";
import {
  anything,
  cidrs,
  clusterName,
  controllers,
  duration,
  hostAndPort,
  ipAddress,
  mapped,
  matching,
  natural,
  objectName,
  paths,
  prefixes,
  secret,
  secretScope,
  stateLocation,
  tlsVersion,
  url,
} from "./flag-values.ts";
import { setting } from "./setting.ts";

/** Which cluster, and how to reach it: flags of every command that reads a cluster. */
export const CLUSTER = {
  kubeconfig: setting("--kubeconfig <file>").doc("kubeconfig for the API server", {
    unset: "the pod's service account",
  }),
  context: setting("--context <name>").doc("context of the kubeconfig", { unset: "its current context" }),
  master: setting("--master <url>").doc("URL of the API server; overrides the kubeconfig"),
  clusterName: setting("--cluster-name <name>", clusterName, "kubernetes").doc("name of the cluster's Pulumi stack"),
  clusterCidrs: setting("--cluster-cidr <cidrs>", cidrs).doc("pod CIDRs of the cluster; required for routes"),
  routes: setting("--configure-cloud-routes [bool]", boolean, "true").doc("create routes to the pods in the network"),
};

const guardLimits = mapped(natural, (removals) => ({ ...GUARD_LIMITS, removals }));

/** What the controller manages, how often, and with which safeguards. */
export const CONTROLLER = {
  provider: setting("--cloud-provider <name>", matching(/^hcloud$/, "hcloud")).doc("only hcloud is supported"),
  controllers: setting("--controllers <list>", controllers, "*").doc(
    "controllers to run: * enables all, name enables one, -name disables one; names are cloud-node, cloud-node-lifecycle, service and route",
    { repeats: "," },
  ),
  nodeMonitorMs: setting("--node-monitor-period <duration>", duration(1, 3_600), "5s").doc(
    "interval between checks of the servers of nodes that are not Ready",
  ),
  state: setting("--state <where>", stateLocation, "cluster").doc(
    "where to keep the Pulumi state: cluster (Secrets), none, or a Pulumi backend such as s3://bucket; an https:// URL selects Pulumi Cloud and needs PULUMI_ACCESS_TOKEN",
    { variable: "LOTSE_STATE" },
  ),
  resyncMs: setting("--resync <duration>", duration(1, 86_400), "60s").doc(
    "interval between full comparisons of the cloud with the desired state",
  ),
  runDeadlineMs: setting("--run-deadline <duration>", duration(1, 86_400), "90s").doc(
    "maximum duration of a run; the next run continues with what is left",
  ),
  guard: setting("--guard-removals <count>", guardLimits, String(GUARD_LIMITS.removals)).doc(
    "hold back removals that no object asked for if they exceed both this number and a third of all units of their kind; targets count by server",
  ),
  isDryRun: setting("--dry-run [bool]", boolean, "false").doc(
    "log the planned changes at every --resync, but change nothing and do not acquire the lease",
  ),
  approval: setting("--approval <which>", oneOf("none", "deletions", "manual"), "none").doc(
    "cloud changes that wait for `lotse approve`: none, deletions, or manual (all)",
    { variable: "LOTSE_APPROVAL" },
  ),
};

/** Leader election, with upstream's names, defaults and rules. */
export const ELECTION = {
  isOn: setting("--leader-elect [bool]", boolean, "true").doc("elect one replica as leader; the others stand by"),
  durationMs: setting("--leader-elect-lease-duration <duration>", duration(1, 3_600), "15s").doc(
    "how long standby replicas wait after the last renewal before they take over the lease",
  ),
  deadlineMs: setting("--leader-elect-renew-deadline <duration>", duration(1, 3_600), "10s").doc(
    "the leader steps down if it cannot renew the lease for this long",
  ),
  retryMs: setting("--leader-elect-retry-period <duration>", duration(1, 3_600), "2s").doc(
    "time between attempts to acquire or renew the lease",
  ),
  lock: setting("--leader-elect-resource-lock <kind>", oneOf("leases")).doc(
    "kind of the lock object; only leases is supported",
  ),
  name: setting("--leader-elect-resource-name <name>", objectName, "cloud-controller-manager").doc("name of the Lease"),
  namespace: setting("--leader-elect-resource-namespace <name>", objectName, "kube-system").doc(
    "namespace of the Lease",
  ),
};

/** The HTTPS port: address, certificate, authentication and authorization. */
export const SERVING = {
  host: setting("--bind-address <ip>", ipAddress, "0.0.0.0").doc(
    "IP address on which to serve health and metrics over HTTPS",
  ),
  port: setting("--secure-port <port>", integer(0, 65_535), "10258").doc(
    "HTTPS port for health and metrics; 0 disables it",
  ),
  certDir: setting("--cert-dir <dir>").doc(
    "directory with cloud-controller-manager.crt and .key for the HTTPS port; generated if missing",
  ),
  certFile: setting("--tls-cert-file <file>").doc("certificate of the HTTPS port", {
    unset: "self-signed, in memory",
  }),
  keyFile: setting("--tls-private-key-file <file>").doc("private key for --tls-cert-file"),
  minVersion: setting("--tls-min-version <version>", tlsVersion, "VersionTLS12").doc(
    "minimum TLS version: VersionTLS12 or VersionTLS13",
  ),
  clientCaFile: setting("--client-ca-file <file>").doc("CA bundle that authenticates client certificates"),
  authenticationKubeconfig: setting("--authentication-kubeconfig <file>").doc("kubeconfig for token reviews", {
    unset: "as --kubeconfig",
  }),
  authorizationKubeconfig: setting("--authorization-kubeconfig <file>").doc("kubeconfig for subject access reviews", {
    unset: "as --kubeconfig",
  }),
  openPaths: setting("--authorization-always-allow-paths <paths>", paths, "/healthz,/readyz,/livez").doc(
    "paths that are served without authentication; a * at the end matches anything",
    { repeats: "," },
  ),
  tokenTtlMs: setting("--authentication-token-webhook-cache-ttl <duration>", duration(0, 3_600), "10s").doc(
    "how long to cache the results of token reviews",
  ),
  allowedTtlMs: setting("--authorization-webhook-cache-authorized-ttl <duration>", duration(0, 3_600), "10s").doc(
    "how long to cache granted access",
  ),
  deniedTtlMs: setting("--authorization-webhook-cache-unauthorized-ttl <duration>", duration(0, 3_600), "10s").doc(
    "how long to cache denied access",
  ),
};

/** The log on standard error. */
export const LOGS = {
  logFormat: setting("--logging-format <format>", oneOf("json", "text"), process.stderr.isTTY ? "text" : "json").doc(
    "log format: json or text",
    { unset: "text on a terminal, otherwise json" },
  ),
  verbosity: setting("--v <level>", natural, "0").doc("log verbosity; 2 and higher log every step", { unset: "" }),
};

const shared = { ignored: "the server list is shared, and each reader sets its own maximum age" };

/** Environment variables of the official controller, and ours beside them. */
export const CLOUD = {
  token: setting("HCLOUD_TOKEN", secret).doc("API token of the project, with read and write permission", {
    unset: "required",
  }),
  endpoint: setting("HCLOUD_ENDPOINT", url, "https://api.hetzner.cloud/v1").doc("URL of the Hetzner Cloud API"),
  debug: setting("HCLOUD_DEBUG", boolean, "false").doc("log every API request and response, without secrets"),
  network: setting("HCLOUD_NETWORK").doc(
    "name or id of the cluster's network; required for private addresses and routes",
  ),
  skipsAttachment: setting("HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK", boolean, "false").doc(
    "start even if this machine is not attached to the network",
  ),
  hasRoutes: setting("HCLOUD_NETWORK_ROUTES_ENABLED", boolean, "true").doc("create routes to the pods in the network", {
    needs: "HCLOUD_NETWORK",
  }),
  addressFamily: setting("HCLOUD_INSTANCES_ADDRESS_FAMILY", oneOf("ipv4", "ipv6", "dualstack"), "ipv4").doc(
    "IP family of the nodes' external addresses: `ipv4`, `ipv6` or `dualstack`",
  ),
  zoneLabel: setting("HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", boolean, "true").doc(
    "set the label `topology.kubernetes.io/zone` on nodes",
  ),
  hasMetrics: setting("HCLOUD_METRICS_ENABLED", boolean, "true").doc("serve metrics over plain HTTP"),
  metrics: setting("HCLOUD_METRICS_ADDRESS", hostAndPort, ":8233").doc("listen address of these metrics"),
  cacheMode: setting("HCLOUD_SERVER_CACHE_MODE", oneOf("all", "one", "off")).doc("accepted, no effect", shared),
  cacheAge: setting("HCLOUD_SERVER_CACHE_MAX_AGE", duration(0, 86_400)).doc("accepted, no effect", shared),
  loadBalancers: setting("HCLOUD_LOAD_BALANCERS_ENABLED", boolean, "true").doc("manage load balancers for Services"),
  loadBalancerClasses: setting("LOTSE_LOAD_BALANCER_CLASS", servedClasses, "").doc(
    "`loadBalancerClass` of the Services to serve; with a leading `+`, also Services without a class",
    { unset: "Services without a class" },
  ),
  adoption: setting("LOTSE_ADOPTION", oneOf("named", "labelled"), "named").doc(
    "which load balancers without an owner a Service may adopt: `named` for those it names by `name` or `id`, `labelled` only for those with labels that name the Service",
  ),
};

/** Zero means the default (HCCM E28). */
const robotCache = mapped(duration(0, 86_400), (ms) => ms || 300_000);
/** Robot allows 200 requests an hour for servers: pauses at least a minute after a refusal, whatever is configured. */
const robotPause = mapped(duration(0, 86_400), (ms) => Math.max(ms, 60_000));

/** Dedicated servers, with the official controller's names and defaults (HCCM E26 to E30). */
export const ROBOT = {
  isOn: setting("ROBOT_ENABLED", boolean, "false").doc("manage nodes on dedicated servers as well"),
  user: setting("ROBOT_USER", secret).doc("user name for the Robot web service"),
  password: setting("ROBOT_PASSWORD", secret).doc("password for the Robot web service"),
  endpoint: setting("ROBOT_ENDPOINT", url, "https://robot-ws.your-server.de").doc("URL of the Robot web service"),
  cacheMs: setting("ROBOT_CACHE_TIMEOUT", robotCache, "5m").doc("maximum age of the list of dedicated servers"),
  rateLimitWaitMs: setting("ROBOT_RATE_LIMIT_WAIT_TIME", robotPause, "1m").doc(
    "how long to back off after Robot rejects a request; at least 1m",
  ),
  forwardInternalIps: setting("ROBOT_FORWARD_INTERNAL_IPS", boolean, "true").doc(
    "keep the internal addresses of nodes on dedicated servers",
  ),
};

/** Variables that the official controller does not have. */
export const LOTSE = {
  labelPrefixes: setting("LOTSE_NODE_LABELS_FROM_SERVER", prefixes).doc(
    "comma-separated prefixes of the server labels to copy to nodes",
  ),
  metadataEndpoint: setting("LOTSE_METADATA_ENDPOINT", url, "http://169.254.169.254/hetzner/v1/metadata").doc(
    "URL of the metadata service",
  ),
  tlsSecrets: setting("LOTSE_TLS_SECRETS", secretScope, "false").doc(
    "allow the annotation `tls-secret` to upload TLS Secrets: `true`, or a comma-separated list of namespaces; requires permission to read Secrets there",
  ),
  namespace: setting("POD_NAMESPACE", anything, "kube-system").doc("namespace of Lotse's own objects"),
};
