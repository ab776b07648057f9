/** Pitfalls of the provider that take long. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Cloud, startCloud } from "../../../dev-env/cloud/cloud.ts";
import { Plugin } from "./plugin.ts";

describe("slow pitfalls of the provider", () => {
  let cloud: Cloud;
  let plugin: Plugin;

  beforeEach(async () => {
    cloud = await startCloud({ rateLimit: "off" });
    plugin = await Plugin.start(cloud);
  });

  afterEach(async () => {
    await plugin.stop();
    await cloud.stop();
  });

  test("pitfall 3: deleting a subnet in use is retried; cut short after three of fifty attempts", async () => {
    const network = cloud.addNetwork({ subnet: null });
    const wanted = { networkId: network.id, type: "cloud", networkZone: "eu-central", ipRange: "10.0.1.0/24" };
    const subnet = await plugin.create("networkSubnet:NetworkSubnet", wanted);
    cloud.addServer({ name: "node-1", network: network.id });
    const deletion = plugin.delete(subnet).catch(() => "interrupted");
    const path = "/networks/*/actions/delete_subnet";
    await vi.waitFor(
      () => expect(cloud.journal.count({ path, code: "service_error" })).toBeGreaterThanOrEqual(3),
      15_000,
    );
    await plugin.stop();
    expect(await deletion).toBe("interrupted");
  });

  test("pitfall 5: adding a private target without a network sleeps, then fails without a request", async () => {
    const server = cloud.addServer({ name: "node-1", network: cloud.addNetwork().id });
    const lb = await plugin.create("loadBalancer:LoadBalancer", {
      name: "lb",
      loadBalancerType: "lb11",
      location: "fsn1",
    });
    const target = { type: "server", loadBalancerId: Number(lb.id), serverId: server.id, usePrivateIp: true };
    const before = performance.now();
    await expect(plugin.create("loadBalancerTarget:LoadBalancerTarget", target)).rejects.toThrow(/network/);
    expect(performance.now() - before).toBeGreaterThan(15_000);
    expect(cloud.journal.count({ path: "/load_balancers/*/actions/add_target" })).toBe(0);
  });
});
