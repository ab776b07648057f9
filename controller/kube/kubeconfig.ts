/**
 * Access to the API server, from a kubeconfig or a pod's service account. Users with `exec` or `auth-provider` need
 * `KubeConfig` of @kubernetes/client-node. It is loaded only for them, because it pulls in the whole generated API, which
 * costs 75 MB of memory; the YAML parser is loaded only for kubeconfigs.
 */
import { existsSync, readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { delimiter, dirname, resolve } from "node:path";
import { ConfigError, messageOf } from "../diagnostics/errors.ts";

/** Address of the API server and credentials for requests. */
export interface KubeAccess {
  readonly server: URL;
  /** Context of the kubeconfig; absent in a pod. */
  readonly context?: string;
  /** Namespace of objects that name none, as the context has it; absent means `default`. */
  readonly namespace?: string | undefined;
  /** Options and headers of one request. Called for every request, because tokens are rotated. */
  credentials(): Promise<Pick<RequestOptions, "ca" | "cert" | "key" | "rejectUnauthorized" | "servername" | "headers">>;
}

/** Overrides of a kubeconfig. */
export interface AccessOptions {
  /** Address of the API server. */
  readonly master?: string | undefined;
  /** Context to use instead of the current one. */
  readonly context?: string | undefined;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Access from a kubeconfig, or from the pod's service account when there is none. Several files, separated as in
 * $KUBECONFIG, are merged as kubectl does: the first file that has an entry wins, and missing files are skipped.
 */
export async function loadAccess(
  kubeconfig: string | undefined,
  { master, context }: AccessOptions = {},
): Promise<KubeAccess> {
  if (context && !kubeconfig) throw new ConfigError([`--context ${context}: there is no kubeconfig`]);
  const access = kubeconfig ? await fromFiles(kubeconfig, context) : fromPod();
  return master ? { ...access, server: parseServer("--master", master) } : access;
}

function fromPod(): KubeAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (!host || !existsSync(`${SERVICE_ACCOUNT}/token`)) {
    throw new ConfigError([
      "no kubeconfig found, and not running in a pod with a service account: pass --kubeconfig FILE; commands other than run also use KUBECONFIG and ~/.kube/config",
    ]);
  }
  const ca = readFileSync(`${SERVICE_ACCOUNT}/ca.crt`);
  const hostname = host.includes(":") ? `[${host}]` : host;
  return {
    server: new URL(`https://${hostname}:${port ?? 443}`),
    credentials: async () => ({ ca, headers: bearer(readFileSync(`${SERVICE_ACCOUNT}/token`, "utf8").trim()) }),
  };
}

/** The fields of a context, cluster or user. */
type Entry = Readonly<Record<string, unknown>>;
type Kind = "context" | "cluster" | "user";
type KubeConfigFile = { readonly "current-context"?: string } & {
  readonly [K in `${Kind}s`]?: readonly (Entry & { readonly name: string })[];
};

async function fromFiles(kubeconfig: string, asked: string | undefined): Promise<KubeAccess> {
  const configs = await readConfigs(kubeconfig);
  const name = asked || configs.map((config) => config["current-context"]).find(Boolean) || "";
  const all = (kind: Kind) => configs.flatMap((config) => config[`${kind}s`] ?? []);
  const find = (kind: Kind, wanted: unknown) => {
    return all(kind).find((one) => one.name === wanted)?.[kind] as Entry | null | undefined;
  };
  const context = find("context", name);
  if (asked && !context) {
    const known = all("context").map((one) => one.name);
    throw new ConfigError([
      `--context ${asked}: no such context in ${kubeconfig}, which has: ${known.join(", ") || "none"}`,
    ]);
  }
  const cluster = find("cluster", context?.cluster);
  const user = find("user", context?.user) ?? {};
  if (!name || !cluster?.server) {
    throw new ConfigError([
      `--kubeconfig ${kubeconfig}: ${asked ? `context ${asked}` : "the current context"} refers to no cluster with a server address`,
    ]);
  }
  const server = parseServer(`--kubeconfig ${kubeconfig}`, String(cluster.server));
  const isExternal = user.exec || user["auth-provider"];
  const credentials = isExternal ? await throughLibrary(cluster, user) : async () => credentialsOf(cluster, user);
  return { server, context: name, namespace: text(context?.namespace), credentials };
}

function credentialsOf(cluster: Entry, user: Entry): Awaited<ReturnType<KubeAccess["credentials"]>> {
  return {
    ca: content(cluster, "certificate-authority"),
    cert: content(user, "client-certificate"),
    key: content(user, "client-key"),
    servername: text(cluster["tls-server-name"]),
    ...(cluster["insecure-skip-tls-verify"] === true && { rejectUnauthorized: false }),
    headers: authorization(user),
  };
}

function content(entry: Entry, key: string): Buffer | undefined {
  const [data, path] = [text(entry[`${key}-data`]), text(entry[key])];
  if (data !== undefined) return Buffer.from(data, "base64");
  return path === undefined ? undefined : readFileSync(path);
}

/** Empty fields count as absent. */
function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function parseServer(source: string, text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new ConfigError([`${source}: ${JSON.stringify(text)} is not an http or https URL`]);
  return new URL(text);
}

/** The same file or list of files, also for a process with another working directory. */
export function absolutePaths(kubeconfig: string): string {
  return filesOf(kubeconfig)
    .map((file) => resolve(file))
    .join(delimiter);
}

function filesOf(kubeconfig: string): readonly string[] {
  return existsSync(kubeconfig) ? [kubeconfig] : kubeconfig.split(delimiter).filter((file) => file !== "");
}

async function readConfigs(kubeconfig: string): Promise<readonly KubeConfigFile[]> {
  const found = filesOf(kubeconfig).filter((file) => existsSync(file));
  if (found.length === 0)
    throw new ConfigError([`the kubeconfig ${kubeconfig} does not exist: set KUBECONFIG or pass --kubeconfig`]);
  const { parse } = await import("yaml");
  return found.map((file) => {
    try {
      return withAbsolutePaths(parse(readFileSync(file, "utf8")) ?? {}, dirname(resolve(file)));
    } catch (error) {
      throw new ConfigError([`--kubeconfig ${file}: ${messageOf(error)}`]);
    }
  });
}

const PATHS: ReadonlySet<string> = new Set(["certificate-authority", "client-certificate", "client-key", "tokenFile"]);

/** Paths are relative to the file. A command without a slash is looked up in PATH. */
function withAbsolutePaths(config: unknown, folder: string): KubeConfigFile {
  return JSON.parse(JSON.stringify(config), (key, value: unknown) => {
    const isPath = PATHS.has(key) || (key === "command" && String(value).includes("/"));
    return isPath && typeof value === "string" && value !== "" ? resolve(folder, value) : value;
  });
}

function authorization(user: Entry): Record<string, string> {
  const token = user.tokenFile ? readFileSync(String(user.tokenFile), "utf8").trim() : user.token;
  if (token) return bearer(String(token));
  if (!user.username) return {};
  const pair = Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

async function throughLibrary(cluster: Entry, user: Entry): Promise<KubeAccess["credentials"]> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  const name = "chosen";
  config.loadFromString(
    JSON.stringify({
      "current-context": name,
      contexts: [{ name, context: { cluster: name, user: name } }],
      clusters: [{ name, cluster }],
      users: [{ name, user }],
    } satisfies KubeConfigFile),
  );
  return async () => {
    const options: RequestOptions = { headers: {} };
    await config.applyToHTTPSOptions(options);
    return options;
  };
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
