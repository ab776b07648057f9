/** Every setting of `lotse run`: flag or variable, syntax, default and meaning. To add one, add a row. */

import { boolean, integer, oneOf } from "../formats/values.ts";
import { GUARD_LIMITS } from "../guard/guard.ts";
import { servedClasses } from "../render/service/ownership/ours.ts";
import { controllers } from "./controllers.ts";
import {
  anything,
  cidrs,
  clusterName,
  duration,
  hostAndPort,
  ipAddress,
  mapped,
  matching,
  natural,
  objectName,
  paths,
  period,
  prefixes,
  secret,
  secretScope,
  stateLocation,
  tlsVersion,
  url,
} from "./flag-values.ts";
import { setting } from "./setting.ts";

/** How the cluster is reached and which it is: flags of every command that looks at one. */
export const CLUSTER = {
  kubeconfig: setting("--kubeconfig <file>").doc("how to reach the API server; default the pod's service account"),
  master: setting("--master <url>").doc("address of the API server, instead of the kubeconfig's"),
  clusterName: setting("--cluster-name <name>", clusterName, "kubernetes").doc("name of the cluster's stack"),
  clusterCidrs: setting("--cluster-cidr <cidrs>", cidrs).doc(
    "pod ranges of the cluster; routes are made only when it is set",
  ),
  routes: setting("--configure-cloud-routes [bool]", boolean, "true").doc("make routes to pods in the network"),
};

const guardLimits = mapped(natural, (removals) => ({ ...GUARD_LIMITS, removals }));

/** What is looked after, how often, and with what care. */
export const CONTROLLER = {
  provider: setting("--cloud-provider <name>", matching(/^hcloud$/, "hcloud")).doc("must be hcloud when given"),
  controllers: setting("--controllers <list>", controllers, "*").doc(
    "what to run: * for everything, a name to switch it on, -name to switch it off; names are cloud-node, cloud-node-lifecycle, service and route",
    { repeats: true },
  ),
  nodeMonitorMs: setting("--node-monitor-period <duration>", duration(1, 3_600), "5s").doc(
    "look this often whether the servers of nodes that are not Ready exist and run",
  ),
  state: setting("--state <where>", stateLocation, "cluster").doc(
    "where the stack's state is kept: cluster (Secrets), none, or a Pulumi backend such as s3://bucket",
    { variable: "LOTSE_STATE" },
  ),
  resyncMs: setting("--resync <seconds>", period, "60").doc("compare the cloud with what is wanted this often"),
  runDeadlineMs: setting("--run-deadline <seconds>", period, "90").doc(
    "end a run that takes longer, and go on in the next",
  ),
  guard: setting("--guard-removals <count>", guardLimits, String(GUARD_LIMITS.removals)).doc(
    "hold back removals that no object asks for when there are more than this many and more than a third of all",
  ),
  isDryRun: setting("--dry-run [bool]", boolean, "false").doc(
    "log what would be changed at every --resync, change nothing, and take no lease",
  ),
  approval: setting("--approval <which>", oneOf("none", "deletions", "manual"), "none").doc(
    "changes in the cloud that wait for `lotse approve`: none, deletions or manual, which is all",
    { variable: "LOTSE_APPROVAL" },
  ),
};

/** Leader election; names, defaults and rules are upstream's. */
export const ELECTION = {
  isOn: setting("--leader-elect [bool]", boolean, "true").doc("let one of several replicas work, and the others wait"),
  durationMs: setting("--leader-elect-lease-duration <duration>", duration(1, 3_600), "15s").doc(
    "others wait this long after the leader's last sign of life",
  ),
  deadlineMs: setting("--leader-elect-renew-deadline <duration>", duration(1, 3_600), "10s").doc(
    "the leader stops when it could not give one for so long",
  ),
  retryMs: setting("--leader-elect-retry-period <duration>", duration(1, 3_600), "2s").doc(
    "time between two signs of life, or two tries",
  ),
  lock: setting("--leader-elect-resource-lock <kind>", oneOf("leases")).doc(
    "kind of object that says who leads; leases is the only one",
  ),
  name: setting("--leader-elect-resource-name <name>", objectName, "cloud-controller-manager").doc("its name"),
  namespace: setting("--leader-elect-resource-namespace <name>", objectName, "kube-system").doc("its namespace"),
};

/** The HTTPS port: where it is, and who may see what. */
export const SERVING = {
  host: setting("--bind-address <ip>", ipAddress, "0.0.0.0").doc("address of the HTTPS port for health and metrics"),
  port: setting("--secure-port <port>", integer(0, 65_535), "10258").doc(
    "HTTPS port for health and metrics; 0 switches it off",
  ),
  certDir: setting("--cert-dir <dir>").doc(
    "folder with cloud-controller-manager.crt and .key for that port; made there when they are missing",
  ),
  certFile: setting("--tls-cert-file <file>").doc("certificate for that port; default a self-signed one, in memory"),
  keyFile: setting("--tls-private-key-file <file>").doc("private key of that certificate"),
  minVersion: setting("--tls-min-version <version>", tlsVersion, "VersionTLS12").doc("VersionTLS12 or VersionTLS13"),
  clientCaFile: setting("--client-ca-file <file>").doc("authorities whose client certificates say who asks"),
  authenticationKubeconfig: setting("--authentication-kubeconfig <file>").doc(
    "how to ask the API server who a token belongs to; default as --kubeconfig",
  ),
  authorizationKubeconfig: setting("--authorization-kubeconfig <file>").doc(
    "how to ask the API server what a user may see; default as --kubeconfig",
  ),
  openPaths: setting("--authorization-always-allow-paths <paths>", paths, "/healthz,/readyz,/livez").doc(
    "paths that anybody may see",
    { repeats: true },
  ),
  tokenTtlMs: setting("--authentication-token-webhook-cache-ttl <duration>", duration(0, 3_600), "10s").doc(
    "remember for so long who a token belongs to",
  ),
  allowedTtlMs: setting("--authorization-webhook-cache-authorized-ttl <duration>", duration(0, 3_600), "10s").doc(
    "remember for so long that a user may see a path",
  ),
  deniedTtlMs: setting("--authorization-webhook-cache-unauthorized-ttl <duration>", duration(0, 3_600), "10s").doc(
    "remember for so long that a user may not",
  ),
};

/** The log on standard error. */
export const LOGS = {
  logFormat: setting("--logging-format <format>", oneOf("json", "text"), process.stderr.isTTY ? "text" : "json").doc(
    "json or text",
    { unset: "text on a terminal, else json" },
  ),
  verbosity: setting("--v <level>", natural, "0").doc("verbosity; 2 and more logs every step", { unset: "" }),
};

const shared = { ignored: "one list of servers serves everybody, as old as each may have it" };

/** The environment of the official controller, as it has it. */
export const CLOUD = {
  token: setting("HCLOUD_TOKEN", secret).doc("token of the project, with read and write rights", { unset: "required" }),
  endpoint: setting("HCLOUD_ENDPOINT", url, "https://api.hetzner.cloud/v1").doc("address of the API"),
  debug: setting("HCLOUD_DEBUG", boolean, "false").doc("log every request and answer, without credentials and keys"),
  network: setting("HCLOUD_NETWORK").doc(
    "name or id of the cluster's network; makes addresses, balancers and routes private",
  ),
  skipsAttachment: setting("HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK", boolean, "false").doc(
    "start also on a machine that is not attached to that network",
  ),
  hasRoutes: setting("HCLOUD_NETWORK_ROUTES_ENABLED", boolean, "true").doc("make routes to pods in that network", {
    needs: "HCLOUD_NETWORK",
  }),
  addressFamily: setting("HCLOUD_INSTANCES_ADDRESS_FAMILY", oneOf("ipv4", "ipv6", "dualstack"), "ipv4").doc(
    "external addresses of nodes: `ipv4`, `ipv6` or `dualstack`",
  ),
  zoneLabel: setting("HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", boolean, "true").doc(
    "give nodes the label `topology.kubernetes.io/zone`",
  ),
  hasMetrics: setting("HCLOUD_METRICS_ENABLED", boolean, "true").doc("serve metrics over plain HTTP"),
  metrics: setting("HCLOUD_METRICS_ADDRESS", hostAndPort, ":8233").doc("where"),
  cacheMode: setting("HCLOUD_SERVER_CACHE_MODE", oneOf("all", "one", "off")).doc("accepted, without effect", shared),
  cacheAge: setting("HCLOUD_SERVER_CACHE_MAX_AGE", duration(0, 86_400)).doc("accepted, without effect", shared),
  loadBalancers: setting("HCLOUD_LOAD_BALANCERS_ENABLED", boolean, "true").doc("make balancers for Services"),
  loadBalancerClasses: setting("LOTSE_LOAD_BALANCER_CLASS", servedClasses, "").doc(
    "`loadBalancerClass` of the Services to serve; with a `+` in front, those without a class are served too",
    { unset: "those without a class" },
  ),
};

/** Zero means the default (HCCM E28). */
const robotCache = mapped(duration(0, 86_400), (ms) => ms || 300_000);
/** Robot lets a client ask for servers 200 times an hour; after a refusal a pause is due, whatever is configured. */
const robotPause = mapped(duration(0, 86_400), (ms) => Math.max(ms, 60_000));

/** Dedicated servers; names and defaults are the official controller's (HCCM E26 to E30). */
export const ROBOT = {
  isOn: setting("ROBOT_ENABLED", boolean, "false").doc("look after nodes on dedicated servers too"),
  user: setting("ROBOT_USER", secret).doc("user of the Robot web service"),
  password: setting("ROBOT_PASSWORD", secret).doc("its password"),
  endpoint: setting("ROBOT_ENDPOINT", url, "https://robot-ws.your-server.de").doc("address of the web service"),
  cacheMs: setting("ROBOT_CACHE_TIMEOUT", robotCache, "5m").doc("how old the list of dedicated servers may be"),
  rateLimitWaitMs: setting("ROBOT_RATE_LIMIT_WAIT_TIME", robotPause, "1m").doc(
    "leave Robot alone for so long after it refused, at least a minute",
  ),
  forwardInternalIps: setting("ROBOT_FORWARD_INTERNAL_IPS", boolean, "true").doc(
    "keep the internal addresses that such nodes have",
  ),
};

/** Variables of our own. */
export const LOTSE = {
  labelPrefixes: setting("LOTSE_NODE_LABELS_FROM_SERVER", prefixes).doc(
    "copy labels of servers that start with one of these to their nodes",
  ),
  metadataEndpoint: setting("LOTSE_METADATA_ENDPOINT", url, "http://169.254.169.254/hetzner/v1/metadata").doc(
    "address of the metadata service",
  ),
  tlsSecrets: setting("LOTSE_TLS_SECRETS", secretScope, "false").doc(
    "let the annotation `tls-secret` upload TLS Secrets: `true`, or of these namespaces; needs the right to read Secrets there",
  ),
  namespace: setting("POD_NAMESPACE", anything, "kube-system").doc("where our own objects live"),
};
