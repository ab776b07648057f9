/** The flags of the command line: one table, read by the parser, the help and the reference. */

/** A flag of the command line. `ignored` says why it is accepted without effect. */
export interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly doc: string;
  readonly ignored?: string;
}

/** How the cluster is reached and which it is: flags of every command that looks at one. */
export const CLUSTER_FLAGS: readonly Flag[] = [
  { name: "kubeconfig", value: "<file>", doc: "how to reach the API server; default the pod's service account" },
  { name: "master", value: "<url>", doc: "address of the API server, instead of the kubeconfig's" },
  { name: "cluster-name", value: "<name>", doc: "name of the cluster's stack (default: kubernetes)" },
  { name: "cluster-cidr", value: "<cidrs>", doc: "pod ranges of the cluster; routes are made only when it is set" },
  { name: "configure-cloud-routes", value: "[bool]", doc: "make routes to pods in the network (default: true)" },
];

/** Flags of `lotse run`, as upstream's manifests have them, and ours. */
export const RUN_FLAGS: readonly Flag[] = [
  ...CLUSTER_FLAGS,
  {
    name: "state",
    value: "<where>",
    doc: "where the stack's state is kept: cluster (Secrets), none, or a Pulumi backend such as s3://bucket (default: cluster)",
  },
  { name: "work-dir", value: "<dir>", doc: "folder for the engine's local files (default: a temporary one)" },
  { name: "resync", value: "<seconds>", doc: "compare the cloud with what is wanted this often (default: 60)" },
  { name: "run-deadline", value: "<seconds>", doc: "end a run that takes longer, and go on in the next (default: 90)" },
  {
    name: "node-monitor-period",
    value: "<duration>",
    doc: "look this often whether the servers of nodes that are not Ready exist and run (default: 5s)",
  },
  {
    name: "node-status-update-frequency",
    value: "<duration>",
    doc: "accepted",
    ignored: "addresses and labels follow at every --resync",
  },
  {
    name: "guard-removals",
    value: "<count>",
    doc: "hold back removals that no object asks for when there are more than this many and more than a third of all (default: 5)",
  },
  { name: "logging-format", value: "<format>", doc: "json or text (default: text on a terminal, else json)" },
  { name: "v", value: "<level>", doc: "verbosity; 2 and more logs every step" },
  { name: "cloud-provider", value: "<name>", doc: "must be hcloud when given" },
  { name: "allow-untagged-cloud", value: "[bool]", doc: "accepted", ignored: "Hetzner Cloud has no cluster tags" },
  {
    name: "allocate-node-cidrs",
    value: "[bool]",
    doc: "accepted",
    ignored: "pod ranges are given out by the controller manager",
  },
  {
    name: "route-reconciliation-period",
    value: "<duration>",
    doc: "accepted",
    ignored: "routes follow nodes at once, and --resync",
  },
  { name: "feature-gates", value: "<gates>", doc: "accepted", ignored: "routes are always watch-based" },
  { name: "webhook-secure-port", value: "<port>", doc: "accepted", ignored: "there are no webhooks" },
  { name: "leader-elect", value: "[bool]", doc: "must be false in this version: run one replica" },
];

/** Values by flag name, as they are written on the command line. */
export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;
