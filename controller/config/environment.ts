/** The environment variables we read, for the reference. Each is parsed where it is used; a test proves the two agree. */
import { ENV_PREFIX, OPTION_ROWS } from "../service/annotations.ts";

export interface Variable {
  readonly name: string;
  readonly doc: string;
  /** What holds when it is not set; absent when there is nothing to say. */
  readonly fallback?: string;
}

const variable = (name: string, doc: string, fallback?: string): Variable => ({
  name,
  doc,
  ...(fallback !== undefined && { fallback }),
});

const FILES = "the same from a file, which is read again when it changes";

const CLOUD: readonly Variable[] = [
  variable("HCLOUD_TOKEN", "token of the project, with read and write rights", "required"),
  variable("HCLOUD_TOKEN_FILE", FILES),
  variable("HCLOUD_ENDPOINT", "address of the API", "`https://api.hetzner.cloud/v1`"),
  variable("HCLOUD_DEBUG", "log every request and answer, without credentials and keys", "`false`"),
  variable("HCLOUD_NETWORK", "name or id of the cluster's network; makes addresses, balancers and routes private"),
  variable(
    "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK",
    "start also on a machine that is not attached to that network",
    "`false`",
  ),
  variable("HCLOUD_NETWORK_ROUTES_ENABLED", "make routes to pods in that network", "`true`"),
  variable("HCLOUD_INSTANCES_ADDRESS_FAMILY", "external addresses of nodes: `ipv4`, `ipv6` or `dualstack`", "`ipv4`"),
  variable("HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", "give nodes the label `topology.kubernetes.io/zone`", "`true`"),
  variable("HCLOUD_METRICS_ENABLED", "serve metrics over plain HTTP", "`true`"),
  variable("HCLOUD_METRICS_ADDRESS", "where", "`:8233`"),
  variable("HCLOUD_SERVER_CACHE_MODE", "accepted, without effect"),
  variable("HCLOUD_SERVER_CACHE_MAX_AGE", "accepted, without effect"),
  variable("HCLOUD_LOAD_BALANCERS_ENABLED", "make balancers for Services", "`true`"),
  variable(
    "LOTSE_LOAD_BALANCER_CLASS",
    "`loadBalancerClass` of the Services to serve; with a `+` in front, those without a class are served too",
    "those without a class",
  ),
];

const DEFAULTS: readonly Variable[] = OPTION_ROWS.flatMap(([, { env, annotation, unset }]) =>
  env === undefined ? [] : [variable(ENV_PREFIX + env, `default of the annotation \`${annotation}\``, unset)],
);

const ROBOT: readonly Variable[] = [
  variable("ROBOT_ENABLED", "look after nodes on dedicated servers too", "`false`"),
  variable("ROBOT_USER", "user of the Robot web service"),
  variable("ROBOT_USER_FILE", FILES),
  variable("ROBOT_PASSWORD", "its password"),
  variable("ROBOT_PASSWORD_FILE", FILES),
  variable("ROBOT_ENDPOINT", "address of the web service", "`https://robot-ws.your-server.de`"),
  variable("ROBOT_CACHE_TIMEOUT", "how old the list of dedicated servers may be", "`5m`"),
  variable("ROBOT_RATE_LIMIT_WAIT_TIME", "leave Robot alone for so long after it refused, at least a minute", "`1m`"),
  variable("ROBOT_FORWARD_INTERNAL_IPS", "keep the internal addresses that such nodes have", "`true`"),
];

const OURS: readonly Variable[] = [
  variable("LOTSE_STATE", "as `--state`", "`cluster`"),
  variable("LOTSE_APPROVAL", "as `--approval`", "`none`"),
  variable("LOTSE_NODE_LABELS_FROM_SERVER", "copy labels of servers that start with one of these to their nodes"),
  variable(
    "LOTSE_METADATA_ENDPOINT",
    "address of the metadata service",
    "`http://169.254.169.254/hetzner/v1/metadata`",
  ),
  variable(
    "LOTSE_TLS_SECRETS",
    "let the annotation `tls-secret` upload TLS Secrets: `true`, or of these namespaces; needs the right to read Secrets there",
    "`false`",
  ),
  variable("POD_NAMESPACE", "where our own objects live", "`kube-system`"),
];

/** Read outside of the configuration: by the engine, and by Node as Go programs do. */
const PROCESS: readonly Variable[] = [
  variable("LOTSE_PULUMI", "the `pulumi` binary, together with the next one"),
  variable("LOTSE_PULUMI_HOME", "the folder with its plugins", "what `npm run setup` left in the cache"),
  variable(
    "HTTPS_PROXY",
    "proxy for the APIs of Hetzner Cloud and Robot; `HTTP_PROXY` and `NO_PROXY` likewise, as in Go",
  ),
  variable("SSL_CERT_FILE", "authorities to trust besides the usual ones; `NODE_EXTRA_CA_CERTS` likewise"),
  variable("SSL_CERT_DIR", "as `SSL_CERT_FILE`: folders with files that hold some"),
];

/** All of them, in groups with a title. */
export const ENVIRONMENT: readonly { readonly title: string; readonly variables: readonly Variable[] }[] = [
  { title: "Hetzner Cloud", variables: CLOUD },
  { title: "Defaults of Services", variables: DEFAULTS },
  { title: "Dedicated servers", variables: ROBOT },
  { title: "Lotse", variables: OURS },
  { title: "Process", variables: PROCESS },
];
