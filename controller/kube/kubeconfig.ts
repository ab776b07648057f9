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
      "no --kubeconfig given, and not running in a pod with a service account: pass --kubeconfig FILE",
    ]);
  }
  const ca = readFileSync(`${SERVICE_ACCOUNT}/ca.crt`);
  const hostname = host.includes(":") ? `[${host}]` : host;
  return {
    server: new URL(`https://${hostname}:${port ?? 443}`),
    credentials: async () => ({ ca, headers: bearer(readFileSync(`${SERVICE_ACCOUNT}/token`, "utf8").trim()) }),
  };
}

interface KubeConfigFile {
  readonly "current-context"?: string;
  readonly contexts?: readonly { readonly name: string; readonly context?: { cluster?: string; user?: string } }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster?: ClusterEntry }[];
  readonly users?: readonly { readonly name: string; readonly user?: UserEntry }[];
}

type ClusterEntry = Readonly<Record<string, string | undefined>> & { readonly "insecure-skip-tls-verify"?: boolean };
type UserEntry = Readonly<Record<string, string | undefined>> & {
  readonly exec?: { readonly command?: string };
  readonly "auth-provider"?: object;
};

async function fromFiles(kubeconfig: string, asked: string | undefined): Promise<KubeAccess> {
  const config = await readConfigs(kubeconfig);
  const contexts = config.contexts ?? [];
  const name = asked || config["current-context"];
  const context = contexts.find((one) => one.name === name)?.context;
  if (asked && !context) {
    const known = contexts.map((one) => one.name).join(", ") || "none";
    throw new ConfigError([`--context ${asked}: no such context in ${kubeconfig}, which has: ${known}`]);
  }
  const cluster = config.clusters?.find((one) => one.name === context?.cluster)?.cluster;
  const user = config.users?.find((one) => one.name === context?.user)?.user ?? {};
  if (!name || !cluster?.server) {
    throw new ConfigError([
      `--kubeconfig ${kubeconfig}: ${asked ? `context ${asked}` : "the current context"} refers to no cluster with a server address`,
    ]);
  }
  const server = parseServer(`--kubeconfig ${kubeconfig}`, cluster.server);
  if (user.exec || user["auth-provider"])
    return { server, context: name, credentials: await throughLibrary({ cluster, user }) };
  return {
    server,
    context: name,
    credentials: async () => ({
      ...existing("ca", content(cluster, "certificate-authority")),
      ...existing("cert", content(user, "client-certificate")),
      ...existing("key", content(user, "client-key")),
      ...existing("servername", cluster["tls-server-name"]),
      ...(cluster["insecure-skip-tls-verify"] === true && { rejectUnauthorized: false }),
      headers: authorization(user),
    }),
  };
}

function content(entry: Readonly<Record<string, unknown>>, key: string): Buffer | undefined {
  const data = entry[`${key}-data`];
  if (typeof data === "string") return Buffer.from(data, "base64");
  const path = entry[key];
  return typeof path === "string" ? readFileSync(path) : undefined;
}

function parseServer(source: string, text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new ConfigError([`${source}: ${JSON.stringify(text)} is not an http or https URL`]);
  return new URL(text);
}

async function readConfigs(kubeconfig: string): Promise<KubeConfigFile> {
  const files = existsSync(kubeconfig) ? [kubeconfig] : kubeconfig.split(delimiter).filter((file) => file !== "");
  const found = files.length === 1 ? files : files.filter((file) => existsSync(file));
  if (found.length === 0) throw new ConfigError([`--kubeconfig ${kubeconfig}: none of these files exists`]);
  const { parse } = await import("yaml");
  const configs = found.map((file) => readConfig(file, parse));
  return {
    "current-context": configs.map((config) => config["current-context"]).find((name) => name) ?? "",
    contexts: configs.flatMap((config) => config.contexts ?? []),
    clusters: configs.flatMap((config) => config.clusters ?? []),
    users: configs.flatMap((config) => config.users ?? []),
  };
}

/** A kubeconfig with its relative paths resolved: they are relative to the file. */
function readConfig(file: string, parse: (text: string) => unknown): KubeConfigFile {
  const folder = dirname(resolve(file));
  try {
    const config = (parse(readFileSync(file, "utf8")) ?? {}) as KubeConfigFile;
    return {
      ...config,
      clusters: (config.clusters ?? []).map(({ name, cluster }) => ({
        name,
        cluster: absolute(cluster ?? {}, folder),
      })),
      users: (config.users ?? []).map(({ name, user }) => ({ name, user: absolute(user ?? {}, folder) })),
    };
  } catch (error) {
    throw new ConfigError([`--kubeconfig ${file}: ${messageOf(error)}`]);
  }
}

const PATHS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

function absolute<T extends ClusterEntry | UserEntry>(entry: T, folder: string): T {
  const paths = PATHS.flatMap((key) => (entry[key] ? [[key, resolve(folder, entry[key])] as const] : []));
  const command = (entry as UserEntry).exec?.command;
  // Without a slash it is looked up in PATH.
  const exec = command?.includes("/") && { ...(entry as UserEntry).exec, command: resolve(folder, command) };
  return { ...entry, ...Object.fromEntries(paths), ...(exec && { exec }) };
}

function authorization(user: UserEntry): Record<string, string> {
  const token = user.tokenFile ? readFileSync(user.tokenFile, "utf8").trim() : user.token;
  if (token) return bearer(token);
  if (!user.username) return {};
  const pair = Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

async function throughLibrary({ cluster, user }: { readonly cluster: ClusterEntry; readonly user: UserEntry }) {
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
  return async (): ReturnType<KubeAccess["credentials"]> => {
    const options: RequestOptions = { headers: {} };
    await config.applyToHTTPSOptions(options);
    return options;
  };
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

function existing<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
