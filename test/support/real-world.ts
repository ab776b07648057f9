/** A world with real nodes, for tests: pods that echo requests, clients, and constant traffic. */
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import type { V1PodList } from "@kubernetes/client-node";
import { IMAGES } from "../../dev-env/nodes/images/images.ts";
import { CLIENT } from "../../dev-env/nodes/network/addresses.ts";
import { provideNodeTools } from "../../dev-env/nodes/tools.ts";
import { startWorld, type World, type WorldOptions } from "../../dev-env/nodes/world.ts";
import { prefixed } from "./builders.ts";
import { responseTo } from "./http-client.ts";

/** What a pod of the image `http-echo` reports about a request. */
export interface Report {
  readonly node: string;
  readonly pod: string;
  readonly peer: string;
  readonly client?: string;
  readonly tls: boolean;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

/** Starts a world in the namespaces of this process. */
export async function startRealWorld(options: Omit<WorldOptions, "tools"> = {}): Promise<World> {
  return startWorld({ tools: await provideNodeTools(), ...options });
}

/** The container of an echo pod. */
const container = {
  name: "echo",
  image: IMAGES.echo,
  imagePullPolicy: "Never",
  env: [
    { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    { name: "GRACE", value: "3s" },
  ],
  readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
};

/** A workload of echo pods. `spec` adds to the pod's specification. */
export function anEcho(kind: "Deployment" | "DaemonSet", name: string, spec: object = {}, replicas = 3): object {
  const labels = { app: name };
  const spread = {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: labels },
  };
  const pod = {
    containers: [container],
    terminationGracePeriodSeconds: 5,
    ...(kind === "Deployment" && { topologySpreadConstraints: [spread] }),
    ...spec,
  };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name },
    spec: {
      ...(kind === "Deployment" && { replicas }),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: pod },
    },
  };
}

/** A Service of type LoadBalancer for echo pods. Annotations omit the prefix. */
export function aBalanced(
  name: string,
  app: string,
  annotations: Readonly<Record<string, string>> = {},
  spec: object = {},
): object {
  const all = prefixed({ location: "fsn1", "use-private-ip": "true", ...annotations });
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, annotations: all },
    spec: { type: "LoadBalancer", selector: { app }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  };
}

/** A host name to ask for, and over HTTPS the certificate that the server must present for it. */
export interface Site {
  readonly host: string;
  readonly certificate?: string;
}

/**
 * Requests a URL from the client's address on the internet. Rejects if there is no response within two seconds. Without
 * a site, every certificate is accepted.
 */
export async function fetchAsClient(url: string, site?: Site): Promise<Report> {
  const send = url.startsWith("https:") ? secureRequest : request;
  const options = {
    localAddress: CLIENT,
    agent: false,
    timeout: 2_000,
    rejectUnauthorized: site?.certificate !== undefined,
    ...(site && {
      headers: { host: site.host },
      servername: site.host,
      ca: site.certificate,
      allowPartialTrustChain: true,
    }),
  } as const;
  const sent = send(url, options);
  sent.on("timeout", () => sent.destroy(new Error(`${url}: no response`)));
  const { status, body } = await responseTo(sent);
  if (status !== 200) throw new Error(`${url}: ${status} ${body.trim()}`);
  return JSON.parse(body);
}

/** The running pods with the label `app`. */
export async function podsOf(world: World, app: string) {
  const text = await world.kubectl("get", "pods", `--selector=app=${app}`, "--output=json");
  const { items } = JSON.parse(text) as V1PodList;
  return items
    .filter(({ metadata, status }) => status?.phase === "Running" && metadata?.deletionTimestamp === undefined)
    .map(({ metadata, spec, status }) => ({
      name: metadata?.name ?? "",
      node: spec?.nodeName ?? "",
      ip: status?.podIP ?? "",
    }));
}

/** Requests a URL from inside a pod. Rejects with the reason if that fails. */
export async function fetchFromPod(world: World, pod: string, url: string): Promise<Report> {
  return JSON.parse(await world.kubectl("exec", pod, "--", "/http-echo", "get", url));
}

/** The body of a request that creates a server in the private network. */
export const aServer = (name: string, network: number) => ({
  name,
  server_type: "cx23",
  image: "ubuntu-24.04",
  location: "fsn1",
  networks: [network],
});

/** A failed request. */
export interface Failure {
  /** When it was sent, in milliseconds since the traffic began. */
  readonly atMs: number;
  readonly reason: string;
}

const TRAFFIC_MS = 100;

/** A request every 100 ms, until it is stopped. */
export class Traffic {
  readonly #failures: Failure[] = [];
  readonly #pending = new Set<Promise<void>>();
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #sent = 0;

  constructor(url: string) {
    this.#timer = setInterval(() => {
      const request = this.#send(url).finally(() => this.#pending.delete(request));
      this.#pending.add(request);
    }, TRAFFIC_MS);
  }

  /** The time since the traffic began. */
  get nowMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** Stops sending, and returns what happened when all responses have arrived. */
  async stop(): Promise<{ readonly sent: number; readonly failures: readonly Failure[] }> {
    clearInterval(this.#timer);
    await Promise.all(this.#pending);
    return { sent: this.#sent, failures: this.#failures };
  }

  async #send(url: string): Promise<void> {
    const atMs = this.nowMs;
    this.#sent += 1;
    await fetchAsClient(url).catch((error: Error) => this.#failures.push({ atMs, reason: error.message }));
  }
}
