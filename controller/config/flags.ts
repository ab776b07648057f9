/** The flags of the command line: one table, read by the parser, the help and the reference. */
import { UPSTREAM_FLAGS } from "./upstream-flags.ts";

/** A flag of the command line. `ignored` says why it is accepted without effect. */
export interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly doc: string;
  /** Heading in the help and the reference; those without one come first. */
  readonly section?: string;
  readonly ignored?: string;
  /** Given several times, the values count as one list. */
  readonly repeats?: boolean;
}

/** How the cluster is reached and which it is: flags of every command that looks at one. */
export const CLUSTER_FLAGS: readonly Flag[] = [
  { name: "kubeconfig", value: "<file>", doc: "how to reach the API server; default the pod's service account" },
  { name: "master", value: "<url>", doc: "address of the API server, instead of the kubeconfig's" },
  { name: "cluster-name", value: "<name>", doc: "name of the cluster's stack (default: kubernetes)" },
  { name: "cluster-cidr", value: "<cidrs>", doc: "pod ranges of the cluster; routes are made only when it is set" },
  { name: "configure-cloud-routes", value: "[bool]", doc: "make routes to pods in the network (default: true)" },
];

const ENGINE_FLAGS: readonly Flag[] = [
  {
    name: "state",
    value: "<where>",
    doc: "where the stack's state is kept: cluster (Secrets), none, or a Pulumi backend such as s3://bucket (default: cluster)",
  },
  { name: "resync", value: "<seconds>", doc: "compare the cloud with what is wanted this often (default: 60)" },
  { name: "run-deadline", value: "<seconds>", doc: "end a run that takes longer, and go on in the next (default: 90)" },
  {
    name: "guard-removals",
    value: "<count>",
    doc: "hold back removals that no object asks for when there are more than this many and more than a third of all (default: 5)",
  },
  {
    name: "dry-run",
    value: "[bool]",
    doc: "log what would be changed at every --resync, change nothing, and take no lease (default: false)",
  },
  {
    name: "approval",
    value: "<which>",
    doc: "changes in the cloud that wait for `lotse approve`: none, deletions or manual, which is all (default: none)",
  },
];

const CONTROLLER_FLAGS: readonly Flag[] = [
  { name: "cloud-provider", value: "<name>", doc: "must be hcloud when given" },
  {
    name: "controllers",
    value: "<list>",
    repeats: true,
    doc: "what to run: * for everything, a name to switch it on, -name to switch it off; names are cloud-node, cloud-node-lifecycle, service and route (default: *)",
  },
  {
    name: "node-monitor-period",
    value: "<duration>",
    doc: "look this often whether the servers of nodes that are not Ready exist and run (default: 5s)",
  },
];

const ELECTION_FLAGS: readonly Flag[] = [
  {
    name: "leader-elect",
    value: "[bool]",
    doc: "let one of several replicas work, and the others wait (default: true)",
  },
  {
    name: "leader-elect-lease-duration",
    value: "<duration>",
    doc: "others wait this long after the leader's last sign of life (default: 15s)",
  },
  {
    name: "leader-elect-renew-deadline",
    value: "<duration>",
    doc: "the leader stops when it could not give one for so long (default: 10s)",
  },
  {
    name: "leader-elect-retry-period",
    value: "<duration>",
    doc: "time between two signs of life, or two tries (default: 2s)",
  },
  {
    name: "leader-elect-resource-lock",
    value: "<kind>",
    doc: "kind of object that says who leads; leases is the only one",
  },
  { name: "leader-elect-resource-name", value: "<name>", doc: "its name (default: cloud-controller-manager)" },
  { name: "leader-elect-resource-namespace", value: "<name>", doc: "its namespace (default: kube-system)" },
].map((flag) => ({ ...flag, section: "High availability" }));

const SERVING_FLAGS: readonly Flag[] = [
  { name: "bind-address", value: "<ip>", doc: "address of the HTTPS port for health and metrics (default: 0.0.0.0)" },
  {
    name: "secure-port",
    value: "<port>",
    doc: "HTTPS port for health and metrics; 0 switches it off (default: 10258)",
  },
  {
    name: "cert-dir",
    value: "<dir>",
    doc: "folder with cloud-controller-manager.crt and .key for that port; made there when they are missing",
  },
  { name: "tls-cert-file", value: "<file>", doc: "certificate for that port; default a self-signed one, in memory" },
  { name: "tls-private-key-file", value: "<file>", doc: "private key of that certificate" },
  { name: "tls-min-version", value: "<version>", doc: "VersionTLS12 or VersionTLS13 (default: VersionTLS12)" },
  { name: "client-ca-file", value: "<file>", doc: "authorities whose client certificates say who asks" },
  {
    name: "authentication-kubeconfig",
    value: "<file>",
    doc: "how to ask the API server who a token belongs to; default as --kubeconfig",
  },
  {
    name: "authorization-kubeconfig",
    value: "<file>",
    doc: "how to ask the API server what a user may see; default as --kubeconfig",
  },
  {
    name: "authorization-always-allow-paths",
    value: "<paths>",
    doc: "paths that anybody may see (default: /healthz,/readyz,/livez)",
    repeats: true,
  },
  {
    name: "authentication-token-webhook-cache-ttl",
    value: "<duration>",
    doc: "remember for so long who a token belongs to (default: 10s)",
  },
  {
    name: "authorization-webhook-cache-authorized-ttl",
    value: "<duration>",
    doc: "remember for so long that a user may see a path (default: 10s)",
  },
  {
    name: "authorization-webhook-cache-unauthorized-ttl",
    value: "<duration>",
    doc: "remember for so long that a user may not (default: 10s)",
  },
].map((flag) => ({ ...flag, section: "Health and metrics" }));

const LOG_FLAGS: readonly Flag[] = [
  { name: "logging-format", value: "<format>", doc: "json or text (default: text on a terminal, else json)" },
  { name: "v", value: "<level>", doc: "verbosity; 2 and more logs every step" },
].map((flag) => ({ ...flag, section: "Logs" }));

/** Flags of `lotse run`, as upstream's manifests have them, and ours. */
export const RUN_FLAGS: readonly Flag[] = [
  ...CLUSTER_FLAGS,
  ...CONTROLLER_FLAGS,
  ...ENGINE_FLAGS,
  ...ELECTION_FLAGS,
  ...SERVING_FLAGS,
  ...LOG_FLAGS,
  ...UPSTREAM_FLAGS,
];

/** Values by flag name, as they are written on the command line. */
export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;
