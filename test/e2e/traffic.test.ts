/** Traffic through the load balancers of Services. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pods } from "../../dev-env/demo/pods.ts";
import { aPair } from "../support/certificates.ts";
import { ask, Clients, type Failure } from "../support/clients.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

/** Above the privileged ports. */
const PORT = 8_080;
const NODES = ["node-1", "node-2", "node-3", "node-4"];
/** Health checks run ten times as fast, so that a dead node is detected after five seconds. */
const CLOUD = { dataPlane: { timeScale: 0.1 }, rateLimit: "off" } as const;

const SERVICES = {
  plain: {},
  web: { protocol: "http" },
  proxied: { "uses-proxyprotocol": "true" },
  private: { "use-private-ip": "true" },
  local: {},
};

describe("traffic through the load balancers of Services", () => {
  let world: World;
  let pods: Pods;
  let clients: Clients;

  const read = (name: string) => world.core.readNamespacedService({ namespace: "default", name });
  const balancerOf = async (name: string) => {
    const { metadata } = await read(name);
    return world.cloud.state.loadBalancers
      .values()
      .find(({ labels }) => labels["hcloud-ccm/service-uid"] === metadata?.uid);
  };
  /** Waits for the first address in the status of a Service. */
  const ingressOf = (name: string) =>
    eventually(async () => {
      const [first] = (await read(name)).status?.loadBalancer?.ingress ?? [];
      if (!first?.ip) throw new Error(`${name} has no address yet`);
      return first.ip;
    });
  /** The nodes that answer enough requests for every node to be selected. */
  const nodesOf = async (name: string, port = PORT) => {
    const host = await ingressOf(name);
    const answers = await Promise.all(Array.from({ length: 2 * NODES.length }, () => ask({ host, port })));
    return [...new Set(answers.map((answer) => /on (\S+)/.exec(answer)?.[1]))].toSorted();
  };
  const patch = (name: string, body: readonly object[]) =>
    world.core.patchNamespacedService({ namespace: "default", name, body });

  beforeAll(async () => {
    world = await startWorld({ nodes: NODES.length, cloud: CLOUD });
    pods = world.startPods();
    await Promise.all(
      Object.entries(SERVICES).map(([name, annotations]) => world.createService(name, annotations, [PORT])),
    );
    world.startController();
    const host = await ingressOf("plain");
    await eventually(async () => expect(await nodesOf("plain")).toEqual(NODES));
    clients = new Clients({ host, port: PORT });
  });
  afterAll(async () => {
    await clients?.stop();
    await world?.[Symbol.asyncDispose]();
  });

  it("http: alternates between all nodes", async () => {
    await eventually(async () => expect(await nodesOf("web")).toEqual(NODES));
  });

  it("PROXY protocol: nodes get the client's address, and the status has ipMode Proxy", async () => {
    await eventually(async () => expect(await nodesOf("proxied")).toEqual(NODES));
    const answer = await ask({ host: await ingressOf("proxied"), port: PORT });
    expect(answer).toMatch(/^default\/proxied on node-\d for 127\.0\.0\.1$/);
    expect((await read("proxied")).status?.loadBalancer?.ingress?.every(({ ipMode }) => ipMode === "Proxy")).toBe(true);
    expect(await ask({ host: await ingressOf("plain"), port: PORT })).not.toContain("for");
  });

  it("private targets: reaches nodes over the network", async () => {
    await eventually(async () => expect(await nodesOf("private")).toEqual(NODES));
    const targets = (await balancerOf("private"))?.targets ?? [];
    expect(targets.map((target) => target.type === "server" && target.use_private_ip)).toEqual(NODES.map(() => true));
  });

  it("externalTrafficPolicy Local: uses only nodes with endpoints, also after these have moved", async () => {
    pods.place("default/local", ["node-2"]);
    await patch("local", [{ op: "replace", path: "/spec/externalTrafficPolicy", value: "Local" }]);
    await eventually(async () => expect(await healthOf("local")).toEqual({ "node-2": "healthy" }));
    expect(await nodesOf("local")).toEqual(["node-2"]);
    await using asking = new Clients({ host: await ingressOf("local"), port: PORT }, 5);
    pods.place("default/local", ["node-2", "node-3"]);
    await eventually(async () => expect(await nodesOf("local")).toEqual(["node-2", "node-3"]));
    pods.place("default/local", ["node-3"]);
    await eventually(async () => expect(await healthOf("local")).toEqual({ "node-3": "healthy" }));
    expect(await nodesOf("local")).toEqual(["node-3"]);
    expect(asking.failures).toEqual([]);
  });

  it("https: serves an uploaded certificate by name", async () => {
    const { certificate, privateKey } = aPair({ domains: ["shop.example.com"] });
    const upload = { name: "shop", type: "uploaded", certificate, private_key: privateKey };
    await world.changeCloud("POST", "/certificates", upload);
    await world.createService("uploaded", { protocol: "https", "http-certificates": "shop" }, [PORT]);
    const place = { host: await ingressOf("uploaded"), port: PORT };
    const tls = { servername: "shop.example.com", ca: certificate };
    await eventually(async () => expect(await ask({ ...place, tls })).toMatch(/^default\/uploaded on node-\d$/));
    await expect(ask({ ...place, tls: { ...tls, servername: "other.example.com" } })).rejects.toThrow("altnames");
  });

  it("https: serves a managed certificate of the Service", async () => {
    const domain = "managed.example.com";
    const managed = { "certificate-type": "managed", "http-managed-certificate-domains": domain };
    await world.createService("managed", { protocol: "https", ...managed }, [PORT]);
    const host = await ingressOf("managed");
    await eventually(async () => {
      const [issued] = world.cloud.state.certificates.values().filter(({ type }) => type === "managed");
      const tls = { servername: domain, ca: issued?.certificate ?? "" };
      expect(await ask({ host, port: PORT, tls })).toMatch(/^default\/managed on node-\d$/);
    });
  });

  it("adds and removes ports without affecting others", async () => {
    const host = await ingressOf("plain");
    await patch("plain", [{ op: "add", path: "/spec/ports/-", value: { name: "more", port: PORT + 1 } }]);
    await eventually(async () => expect(await nodesOf("plain", PORT + 1)).toEqual(NODES));
    await patch("plain", [{ op: "remove", path: "/spec/ports/1" }]);
    await eventually(() => expect(ask({ host, port: PORT + 1 })).rejects.toThrow("ECONNREFUSED"));
    expect(clients.failures).toEqual([]);
  });

  it("skips a dead node at once, and removes its target with the server and the Node", async () => {
    const died = performance.now();
    pods.crash("node-4");
    await eventually(async () => expect(await healthOf("plain")).not.toHaveProperty("node-4"));
    expect(servable(clients.failures, died)).toEqual([]);
    clients.forget();
    const id = world.cloud.state.servers.find("node-4")?.id;
    await world.changeCloud("DELETE", `/servers/${id}`);
    await world.core.deleteNode({ name: "node-4" });
    await eventually(async () => expect((await balancerOf("plain"))?.targets).toHaveLength(3));
    await eventually(async () => expect(await nodesOf("web")).toEqual(NODES.slice(0, 3)));
    await eventually(() => expect(clients.answers.size).toBe(3));
    expect(clients.failures).toEqual([]);
  });

  /** Names of the nodes without an unhealthy target. */
  async function healthOf(name: string): Promise<Readonly<Record<string, string>>> {
    const found = ((await balancerOf(name))?.targets ?? []).flatMap((target) => {
      if (target.type !== "server") return [];
      const status = target.health_status[0]?.status ?? "unknown";
      const server = world.cloud.state.servers.get(target.server.id);
      return server && status !== "unhealthy" ? [[server.name, status]] : [];
    });
    return Object.fromEntries(found);
  }
});

/** Failures, except those of requests in flight when their node died. */
function servable(failures: readonly Failure[], wentAt: number): readonly Failure[] {
  return failures.filter(({ startedAt, endedAt }) => startedAt > wentAt || endedAt < wentAt);
}
