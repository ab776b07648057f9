/**
 * Access to the API server, from a kubeconfig or a pod's service account. Users with `exec` or `auth-provider` need
 * `KubeConfig` of @kubernetes/client-node. It is loaded only for them, because it pulls in the whole generated API, which
 * costs 75 MB of memory.
 */
import { existsSync, readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { ConfigError, messageOf } from "../diagnostics/errors.ts";

/** Address of the API server and credentials for requests. */
export interface KubeAccess {
  readonly server: URL;
  /** Options and headers of one request. Called for every request, because tokens are rotated. */
  credentials(): Promise<Pick<RequestOptions, "ca" | "cert" | "key" | "rejectUnauthorized" | "servername" | "headers">>;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Access from a kubeconfig file, or from the pod's service account when there is none. `master` overrides the address. */
export async function loadAccess(kubeconfig: string | undefined, master?: string): Promise<KubeAccess> {
  const access = kubeconfig ? await fromFile(kubeconfig) : fromPod();
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
  readonly contexts?: readonly { readonly name: string; readonly context: { cluster: string; user: string } }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster: ClusterEntry }[];
  readonly users?: readonly { readonly name: string; readonly user: UserEntry }[];
}

type ClusterEntry = Readonly<Record<string, string | undefined>> & { readonly "insecure-skip-tls-verify"?: boolean };
type UserEntry = Readonly<Record<string, string | undefined>> & {
  readonly exec?: object;
  readonly "auth-provider"?: object;
};

async function fromFile(file: string): Promise<KubeAccess> {
  const config = readConfig(file);
  const context = config.contexts?.find(({ name }) => name === config["current-context"])?.context;
  const cluster = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users?.find(({ name }) => name === context?.user)?.user ?? {};
  if (!cluster?.server) {
    throw new ConfigError([`--kubeconfig ${file}: the current context refers to no cluster with a server address`]);
  }
  const server = parseServer(`--kubeconfig ${file}`, cluster.server);
  if (user.exec || user["auth-provider"]) return { server, credentials: await throughLibrary(file) };

  const content = (entry: Readonly<Record<string, unknown>>, key: string): Buffer | undefined => {
    const data = entry[`${key}-data`];
    if (typeof data === "string") return Buffer.from(data, "base64");
    const path = entry[key];
    return typeof path === "string" ? readFileSync(resolve(dirname(file), path)) : undefined;
  };
  return {
    server,
    credentials: async () => ({
      ...existing("ca", content(cluster, "certificate-authority")),
      ...existing("cert", content(user, "client-certificate")),
      ...existing("key", content(user, "client-key")),
      ...existing("servername", cluster["tls-server-name"]),
      ...(cluster["insecure-skip-tls-verify"] === true && { rejectUnauthorized: false }),
      headers: authorization(user, dirname(file)),
    }),
  };
}

function parseServer(source: string, text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new ConfigError([`${source}: ${JSON.stringify(text)} is not an http or https URL`]);
  return new URL(text);
}

function readConfig(file: string): KubeConfigFile {
  try {
    return (parse(readFileSync(file, "utf8")) ?? {}) as KubeConfigFile;
  } catch (error) {
    throw new ConfigError([`--kubeconfig ${file}: ${messageOf(error)}`]);
  }
}

function authorization(user: UserEntry, folder: string): Record<string, string> {
  const token = user.tokenFile ? readFileSync(resolve(folder, user.tokenFile), "utf8").trim() : user.token;
  if (token) return bearer(token);
  if (!user.username) return {};
  const pair = Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

async function throughLibrary(file: string): Promise<KubeAccess["credentials"]> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromFile(file);
  return async () => {
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
