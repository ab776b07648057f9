import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scopeOf } from "../../controller/apply/scope.ts";
import { Gateway } from "../../controller/hcloud/gateway.ts";
import { Upstream } from "../../controller/hcloud/sender.ts";
import type { RunAccess } from "../../controller/hcloud/session.ts";
import { balancerState } from "../../controller/render/service/load-balancer-state.ts";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { unitOf } from "../../stacks/units/names.ts";
import { Plugin } from "../conformance/pulumi/plugin.ts";
import { aBalancerSpec } from "../support/builders.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { eventually } from "../support/eventually.ts";
import { startServer } from "../support/http-server.ts";

/** The plugin listens on loopback without authentication. This is what another process there can do during a run. */
describe("a process on the same host that uses the plugin of a run", () => {
  let cloud: Cloud;
  let gateway: Gateway;
  let access: RunAccess;
  let plugin: Plugin;
  let intruder: Plugin;
  const PLANNED = aBalancerSpec({ name: "planned", type: "lb21" });
  const balancer = (name: string) => cloud.state.loadBalancers.find(name);

  beforeAll(async () => {
    cloud = await startCloud();
    cloud.addNetwork({ name: "cluster" });
    cloud.addServer({ name: "victim" });
    for (const name of ["planned", "other"])
      await changeCloud(cloud, "POST", "/load_balancers", { name, load_balancer_type: "lb11", location: "fsn1" });
    const { url: endpoint, token } = cloud;
    gateway = new Gateway(
      new Upstream({ endpoint, token: () => token, userAgent: "test", timeoutMs: 5_000 }),
      () => {},
    );
    await gateway.start();
    const listed = balancer("planned");
    const existing = listed ? { [unitOf(PLANNED)]: balancerState(listed, undefined) } : {};
    const plan = [{ kind: "make", unit: unitOf(PLANNED), spec: PLANNED, differences: [] }] as const;
    access = gateway.open({ run: "run", mode: "apply", ...scopeOf(plan, existing) });
    plugin = await Plugin.start({ url: access.endpoint, token: access.token });
    intruder = plugin.intrude();
  });
  afterAll(async () => {
    await plugin?.stop();
    await gateway?.stop();
    await cloud?.stop();
  });

  const writes = () => cloud.journal.writes.map(({ method, route }) => `${method} ${route}`);
  const REFUSED = /not part of the run: nothing was sent/;

  it.each([
    ["a server", "server:Server", { name: "miner", serverType: "cx23", image: "debian-12", location: "fsn1" }],
    ["an SSH key", "sshKey:SshKey", { name: "mine", publicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ x" }],
    ["a load balancer", "loadBalancer:LoadBalancer", { name: "mine", loadBalancerType: "lb11", location: "fsn1" }],
    [
      "a second one of the name in the plan",
      "loadBalancer:LoadBalancer",
      { name: "planned", loadBalancerType: "lb11", location: "fsn1" },
    ],
  ])("cannot create %s", async (_, type, inputs) => {
    cloud.journal.clear();
    await expect(intruder.create(type, inputs)).rejects.toThrow(REFUSED);
    expect(writes()).toEqual([]);
  });

  it.each([
    ["a server", "server:Server", () => cloud.state.servers.find("victim")?.id],
    ["a network", "network:Network", () => cloud.state.networks.find("cluster")?.id],
    ["the load balancer of another Service", "loadBalancer:LoadBalancer", () => balancer("other")?.id],
    ["the load balancer that the run changes", "loadBalancer:LoadBalancer", () => balancer("planned")?.id],
  ])("cannot delete %s, but can read it", async (_, type, idOf) => {
    cloud.journal.clear();
    const found = await intruder.read({ type, id: String(idOf()) });
    expect(found?.id).toBe(String(idOf()));
    await expect(intruder.delete(found as never)).rejects.toThrow(REFUSED);
    expect(writes()).toEqual([]);
  });

  it("can change the load balancer that the run changes, which the next turn repairs", async () => {
    const found = await intruder.read({ type: "loadBalancer:LoadBalancer", id: String(balancer("planned")?.id) });
    await intruder.update(found as never, { ...found?.inputs, algorithm: { type: "least_connections" } });
    expect(balancer("planned")?.algorithm.type).toBe("least_connections");
  });

  it("gets at most the run's credential by configuring the plugin anew, and no access with it", async () => {
    const server = await startServer((_, response) => void response.writeHead(500).end("{}"));
    await intruder.configure({ endpoint: `${server.url}/v1`, pollInterval: "10ms", pollFunction: "constant" });
    const asked = intruder.read({ type: "server:Server", id: "1" }).catch(() => {});
    await eventually(() => expect(server.received.length).toBeGreaterThan(0));
    await server.stop();
    await asked;
    expect(JSON.stringify(server.received)).not.toContain(cloud.token);
    const { origin } = new URL(access.endpoint);
    const headers = { authorization: `Bearer ${access.token}` };
    for (const path of ["/v1/servers", `/${"0".repeat(16)}/v1/servers`])
      expect((await fetch(origin + path, { headers })).status).toBe(401);
  });

  it("can do nothing once the run has ended", async () => {
    const fresh = await Plugin.start({ url: access.endpoint, token: access.token });
    try {
      await access.close();
      const asked = fresh.intrude().read({ type: "server:Server", id: String(cloud.state.servers.find("victim")?.id) });
      await expect(asked).rejects.toThrow(/this run has ended/);
    } finally {
      await fresh.stop();
    }
  });
});
