import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

describe("routes", () => {
  let world: World;
  let controller: ControllerProcess;
  const routes = () => world.cloud.state.networks.get(world.networkId)?.routes ?? [];
  const gatewayTo = (destination: string) => routes().find((route) => route.destination === destination)?.gateway;
  const privateIp = (name: string) => world.cloud.state.servers.find(name)?.private_net[0]?.ip;
  const network = (action: string, body: object) =>
    world.changeCloud("POST", `/networks/${world.networkId}/actions/${action}`, body);
  const condition = async (name: string) =>
    (await world.core.readNode({ name })).status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
  const sayUp = (name: string, reason: string) => {
    const now = new Date().toISOString();
    const theirs = { type: "NetworkUnavailable", status: "False", reason, message: "up" };
    const conditions = [{ ...theirs, lastHeartbeatTime: now, lastTransitionTime: now }];
    return world.observer.patch(`/api/v1/nodes/${name}/status`, "strategic-merge", { status: { conditions } });
  };
  const settled = (check: () => void | Promise<void>) => eventually(check, { timeoutMs: 60_000 });

  beforeAll(async () => {
    world = await startWorld({ nodes: 2 });
    await network("add_route", { destination: "10.99.0.0/24", gateway: "10.0.1.200" });
    await network("add_route", { destination: "10.244.77.0/24", gateway: "10.0.1.77" });
    await network("add_route", { destination: "10.244.1.0/24", gateway: "10.0.1.66" });
    await sayUp("node-2", "CiliumIsUp");
    controller = world.startController();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it("framework R07, R26: routes a node, and marks its network as available", async () => {
    await settled(async () => {
      expect(await condition("node-1")).toMatchObject({ status: "False", reason: "RouteCreated" });
      // The condition of this node is not ours, and says nothing about its route.
      expect(gatewayTo("10.244.2.0/24")).toBe(privateIp("node-2"));
    });
  });

  it("unlike HCCM R5: repairs a wrong gateway", () => {
    expect(gatewayTo("10.244.1.0/24")).toBe(privateIp("node-1"));
  });

  it("framework R13, R14: removes a blackhole route inside the cluster's range, and keeps one outside", async () => {
    await settled(() => expect(gatewayTo("10.244.77.0/24")).toBeUndefined());
    expect(gatewayTo("10.99.0.0/24")).toBe("10.0.1.200");
  });

  it("unlike framework R29: does not touch the condition of a CNI", async () => {
    expect(await condition("node-2")).toMatchObject({ reason: "CiliumIsUp" });
  });

  it("unlike HCCM R12: keeps the route of a node whose name differs from its server", async () => {
    const server = world.cloud.addServer({ name: "machine", network: world.networkId });
    await world.cluster.registerNode({
      name: "renamed",
      providerId: `hcloud://${server.id}`,
      podCidrs: ["10.244.50.0/24"],
    });
    await settled(async () => expect(await condition("renamed")).toMatchObject({ reason: "RouteCreated" }));
    expect(gatewayTo("10.244.50.0/24")).toBe(server.private_net[0]?.ip);
  });

  it("unlike HCCM R11: routes the IPv4 range of a dual-stack node, and marks it as available", async () => {
    world.cloud.addServer({ name: "dual", network: world.networkId });
    await world.cluster.registerNode({ name: "dual", podCidrs: ["10.244.51.0/24", "fd00:51::/64"] });
    await settled(async () => expect(await condition("dual")).toMatchObject({ status: "False" }));
    expect(gatewayTo("10.244.51.0/24")).toBe(privateIp("dual"));
  });

  it("HCCM R4: reports a node outside the network, and does not mark it as available", async () => {
    world.cloud.addServer({ name: "outside" });
    await world.cluster.registerNode({ name: "outside", podCidrs: ["10.244.52.0/24"] });
    await settled(async () => {
      expect((await world.eventsAbout("outside")).join()).toContain("not attached to network cluster");
      expect(await condition("outside")).toMatchObject({ status: "True", reason: "NoRouteCreated" });
    });
  });

  it("unlike HCCM R9: refuses a range outside --cluster-cidr, and leaves the route that is there alone", async () => {
    world.cloud.addServer({ name: "elsewhere", network: world.networkId });
    await world.cluster.registerNode({ name: "elsewhere", podCidrs: ["10.99.0.0/24"] });
    await settled(async () => {
      const events = await world.events();
      expect(events.find(({ reason }) => reason === "ClusterCIDRMisconfigured")).toMatchObject({
        involvedObject: { name: "elsewhere" },
        source: { component: "route_controller" },
      });
      expect(await condition("elsewhere")).toMatchObject({ status: "True", reason: "NoRouteCreated" });
    });
    expect(gatewayTo("10.99.0.0/24")).toBe("10.0.1.200");
  });

  it("keeps the routes of a Node whose server is detached, and of one that drains behind a finalizer", async () => {
    const draining = { metadata: { finalizers: ["karpenter.sh/termination"] } };
    await world.observer.patch("/api/v1/nodes/dual", "strategic-merge", draining);
    await world.core.deleteNode({ name: "dual" });
    const gateway = gatewayTo("10.244.2.0/24");
    const server = world.cloud.state.servers.find("node-2")?.id;
    await world.changeCloud("POST", `/servers/${server}/actions/detach_from_network`, { network: world.networkId });
    await settled(async () => expect((await world.eventsAbout("node-2")).join()).toContain("its route stays as it is"));
    expect(gatewayTo("10.244.2.0/24")).toBe(gateway);
    expect(gatewayTo("10.244.51.0/24")).toBe(privateIp("dual"));
    await world.observer.patch("/api/v1/nodes/dual", "strategic-merge", {
      metadata: { "$deleteFromPrimitiveList/finalizers": ["karpenter.sh/termination"] },
    });
    await settled(() => expect(gatewayTo("10.244.51.0/24")).toBeUndefined());
  });

  it("framework R35: retries a failed removal, without delaying others or changing conditions", async () => {
    const failures = () => controller.records("unit failed").length;
    const before = failures();
    const path = "/networks/*/actions/delete_route";
    const fault = world.cloud.faults.add({ path, times: 1, effect: { kind: "error", code: "service_error" } });
    await network("add_route", { destination: "10.244.81.0/24", gateway: "10.0.1.77" });
    await network("add_route", { destination: "10.244.82.0/24", gateway: "10.0.1.77" });
    await world.addNode(59);
    await settled(async () => expect(await condition("node-59")).toMatchObject({ reason: "RouteCreated" }));
    await settled(() => {
      expect(gatewayTo("10.244.81.0/24")).toBeUndefined();
      expect(gatewayTo("10.244.82.0/24")).toBeUndefined();
    });
    expect(fault.struck).toBe(1);
    expect(failures() - before).toBe(1);
    for (const name of ["node-1", "node-59"]) {
      expect(await condition(name)).toMatchObject({ status: "False", reason: "RouteCreated" });
      expect((await world.eventsAbout(name)).join()).not.toContain("FailedToCreateRoute");
    }
  });

  it("unlike HCCM R6: routes nodes that join at once without a conflict, and retries after one without an Event", async () => {
    const path = "/networks/*/actions/add_route";
    const fault = world.cloud.faults.add({ path, times: 1, effect: { kind: "error", code: "conflict" } });
    const indexes = [60, 61, 62, 63];
    await Promise.all(indexes.map((index) => world.addNode(index)));
    await settled(async () => {
      for (const index of indexes) {
        expect(await condition(`node-${index}`)).toMatchObject({ reason: "RouteCreated" });
        expect(gatewayTo(`10.244.${index}.0/24`)).toBe(privateIp(`node-${index}`));
        // Nodes are initialised by a loop of their own, which need not be done before the routes exist.
        expect(await world.eventsAbout(`node-${index}`)).toContainEqual(expect.stringContaining("Synced"));
      }
    });
    expect(fault.struck).toBe(1);
    expect(world.cloud.journal.count({ method: "POST", path: "**/add_route", code: "conflict" })).toBe(1);
    for (const index of indexes)
      expect(await world.eventsAbout(`node-${index}`)).toEqual([expect.stringContaining("Synced")]);
  });

  it("framework R36: removes the route of a deleted node", async () => {
    await world.core.deleteNode({ name: "renamed" });
    await settled(() => expect(gatewayTo("10.244.50.0/24")).toBeUndefined());
  });

  it("framework R33: reports a full network on the node, before the API rejects the route", async () => {
    const failedBefore = controller.records("unit failed").length;
    for (let index = 0; routes().length < 100; index += 1) {
      await network("add_route", { destination: `10.98.${index}.0/24`, gateway: "10.0.1.200" });
    }
    await world.addNode(3);
    await settled(async () => {
      expect((await world.eventsAbout("node-3")).join()).toContain("has reached the limit of 100 routes");
      expect(await condition("node-3")).toMatchObject({ status: "True" });
    });
    expect(world.cloud.journal.count({ method: "POST", path: "**/add_route", status: 422 })).toBe(0);
    expect(controller.records("unit failed")).toHaveLength(failedBefore);
  });
});
