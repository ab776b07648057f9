/** Packets from a client through load balancers, node ports and kube-proxy to pods; firewalls, metadata and power. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installChart } from "../../dev-env/nodes/chart.ts";
import { CLIENT } from "../../dev-env/nodes/network/addresses.ts";
import { EVERYWHERE, type World } from "../../dev-env/nodes/world.ts";
import { aPair } from "../support/certificates.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { eventually } from "../support/eventually.ts";
import { aBalanced, anEcho, fetchAsClient, podsOf, type Site, startRealWorld } from "../support/real-world.ts";

/** In iptables mode, node ports answer on all addresses; in nftables mode, only on the node's own unless told otherwise. */
const PROXIES = {
  "node-1": EVERYWHERE,
  "node-2": { mode: "iptables", nodePortAddresses: [] },
  "node-3": { mode: "nftables", nodePortAddresses: [] },
} as const;

const HOST = "web.example.com";
const { certificate, privateKey } = aPair({ domains: [HOST] });
const PORTS = Object.entries({ http: 80, https: 443 }).map(([name, port]) => ({ name, port, targetPort: 8080 }));

let world: World;
beforeAll(async () => {
  world = await startRealWorld({ proxyOf: (name) => PROXIES[name as keyof typeof PROXIES] });
  await world.apply(
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "web-tls" },
      type: "kubernetes.io/tls",
      stringData: { "tls.crt": certificate, "tls.key": privateKey },
    },
    anEcho("Deployment", "web"),
    anEcho("Deployment", "single", {}, 1),
    aBalanced("tcp", "web", { name: "tcp" }),
    aBalanced("http", "web", { name: "http", protocol: "http" }),
    aBalanced("proxied", "web", { name: "proxied", "uses-proxyprotocol": "true" }),
    aBalanced("tls", "web", { name: "tls" }, { ports: [{ port: 443, targetPort: 8443 }] }),
    aBalanced("local", "single", { name: "local" }, { externalTrafficPolicy: "Local" }),
    aBalanced("public", "web", { name: "public", "use-private-ip": "false" }),
    aBalanced("web", "web", { name: "web", "443.protocol": "https", "443.tls-secret": "web-tls" }, { ports: PORTS }),
  );
  await installChart(world, { args: { resync: "10s" }, tlsSecrets: { enabled: true, namespaces: ["default"] } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const balancer = (name: string) => {
  const found = world.cloud.state.loadBalancers.find(name);
  if (!found) throw new Error(`no load balancer ${name}`);
  return found;
};
const urlOf = (name: string, protocol = "http") => `${protocol}://${balancer(name).public_net.ipv4.ip}/`;
const answered = (name: string, protocol?: string, site?: Site) =>
  eventually(() => fetchAsClient(urlOf(name, protocol), site), { timeoutMs: 60_000 });
const serverOf = (name: string) => {
  const found = world.cloud.state.servers.find(name);
  if (!found) throw new Error(`no server ${name}`);
  return found;
};
/** The health of a load balancer's targets, by the name of the server. */
const healthOf = (name: string) =>
  Object.fromEntries(
    balancer(name).targets.flatMap((target) =>
      target.type === "server"
        ? [[world.cloud.state.servers.get(target.server.id)?.name, target.health_status[0]?.status]]
        : [],
    ),
  );

describe("a request through a load balancer", () => {
  it("reaches pods on all nodes, over TCP", async () => {
    await answered("tcp");
    const nodes = await eventually(async () => {
      const seen = new Set(
        (await Promise.all(Array.from({ length: 12 }, () => answered("tcp")))).map(({ node }) => node),
      );
      expect(seen.size).toBe(3);
      return seen;
    });
    expect([...nodes].sort()).toEqual(["node-1", "node-2", "node-3"]);
  });

  it("carries the client's address in a header, over HTTP", async () => {
    const { headers } = await answered("http");
    expect(headers["X-Forwarded-For"]).toEqual([CLIENT]);
  });

  it("carries the client's address in the PROXY protocol", async () => {
    const { client, peer } = await answered("proxied");
    expect(client).toBe(CLIENT);
    expect(peer).not.toBe(CLIENT);
  });

  it("stays encrypted up to the pod, over TCP with TLS", async () => {
    expect((await answered("tls", "https")).tls).toBe(true);
  });

  it("is decrypted by the load balancer with the certificate of a Secret, over HTTPS", async () => {
    const { tls, headers } = await answered("web", "https", { host: HOST, certificate });
    expect(tls).toBe(false);
    expect(headers["X-Forwarded-Proto"]).toEqual(["https"]);
    const other = fetchAsClient(urlOf("web", "https"), { host: "other.example.com", certificate });
    await expect(other).rejects.toThrow("altnames");
  });

  it("goes only to the node of the pod, from the load balancer's address, with externalTrafficPolicy Local", async () => {
    const { node, peer } = await answered("local");
    expect(peer).toBe(balancer("local").private_net[0]?.ip);
    const [pod] = await podsOf(world, "single");
    expect(node).toBe(pod?.node);
    const expected = Object.keys(PROXIES).map((name) => [name, name === node ? "healthy" : "unhealthy"]);
    await eventually(() => expect(healthOf("local")).toEqual(Object.fromEntries(expected)));
  });

  it("reaches public targets only where node ports answer on public addresses", async () => {
    await answered("public");
    await eventually(() =>
      expect(healthOf("public")).toEqual({ "node-1": "healthy", "node-2": "healthy", "node-3": "unhealthy" }),
    );
  });
});

describe("a server", () => {
  it("has a /32 in the private network, with an MTU of 1450, and a gateway", async () => {
    const machine = await world.fleet.machine("node-1");
    const link = await machine.run("ip", ["address", "show", "enp7s0"]);
    expect(link).toContain("mtu 1450");
    expect(link).toContain(`inet ${serverOf("node-1").private_net[0]?.ip}/32`);
    expect(await machine.run("ip", ["route"])).toContain("10.0.0.0/8 via 10.0.0.1 dev enp7s0");
  });

  it("reads its own metadata", async () => {
    for (const name of ["node-1", "node-2"]) {
      const machine = await world.fleet.machine(name);
      const metadata = await machine.run("curl", ["-s", "http://169.254.169.254/hetzner/v1/metadata"]);
      expect(metadata).toContain(`instance-id: ${serverOf(name).id}\n`);
      expect(metadata).toContain("network_name: cluster");
    }
  });

  it("accepts from the internet what its firewalls allow, as soon as they are changed", async () => {
    const port = JSON.parse(await world.kubectl("get", "service", "tcp", "-ojson")).spec.ports[0].nodePort;
    const url = `http://${serverOf("node-1").public_net.ipv4?.ip}:${port}/`;
    await fetchAsClient(url);
    const rule = (source: string) => ({ direction: "in", protocol: "tcp", port: String(port), source_ips: [source] });
    const { firewall } = await changeCloud(world.cloud, "POST", "/firewalls", {
      name: "closed",
      rules: [rule("192.0.2.0/24")],
      apply_to: [{ type: "server", server: { id: serverOf("node-1").id } }],
    });
    await eventually(() => expect(fetchAsClient(url)).rejects.toThrow("no response"));
    expect(await answered("tcp")).toBeDefined();
    const open = { rules: [rule("0.0.0.0/0")] };
    await changeCloud(world.cloud, "POST", `/firewalls/${firewall.id}/actions/set_rules`, open);
    await eventually(() => fetchAsClient(url));
  });

  it("that is powered off gets no more requests, and comes back after it is powered on", async () => {
    const { id } = serverOf("node-3");
    const isReady = (status: string) =>
      eventually(
        async () => {
          const query = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}';
          expect(await world.kubectl("get", "node", "node-3", query)).toBe(status);
        },
        { timeoutMs: 60_000 },
      );
    await changeCloud(world.cloud, "POST", `/servers/${id}/actions/poweroff`);
    await isReady("Unknown");
    await eventually(async () => expect(await world.kubectl("get", "node", "node-3", "-oyaml")).toContain("shutdown"));
    await eventually(() => expect(healthOf("tcp")["node-3"]).toBe("unhealthy"));
    await answered("tcp");
    await changeCloud(world.cloud, "POST", `/servers/${id}/actions/poweron`);
    await isReady("True");
    await eventually(() => expect(healthOf("tcp")["node-3"]).toBe("healthy"));
  });
});
