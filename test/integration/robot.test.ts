import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Robot, startRobot } from "../../dev-env/cloud/robot/robot.ts";
import type { SimNode } from "../../dev-env/cluster/cluster.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const METAL = {
  server_number: 77,
  server_name: "metal",
  server_ip: "203.0.113.77",
  server_ipv6_net: "2001:db8:77::",
  product: "AX41-NVMe",
  dc: "FSN1-DC8",
};

describe("a cluster of cloud and dedicated servers", () => {
  let world: World;
  let robot: Robot;
  let metal: SimNode;
  let controller: ControllerProcess;
  const start = () =>
    world.startController(["--node-monitor-period=1s"], {
      ROBOT_ENABLED: "true",
      ROBOT_ENDPOINT: robot.url,
      ROBOT_USER: robot.user,
      ROBOT_PASSWORD: robot.password,
      ROBOT_CACHE_TIMEOUT: "1s",
    });
  const settled = (check: () => void | Promise<void>) => eventually(check, { timeoutMs: 30_000 });
  const targets = () => world.cloud.state.loadBalancers.values()[0]?.targets ?? [];
  const ips = () => targets().flatMap((target) => (target.type === "ip" ? [target.ip.ip] : []));

  beforeAll(async () => {
    world = await startWorld({ nodes: 1 });
    robot = await startRobot();
    robot.servers.set(77, METAL);
    metal = await world.cluster.registerNode({ name: "metal", podCidrs: ["10.244.77.0/24"] });
    controller = start();
    await world.createService("web");
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await robot.stop();
  });

  it("HCCM N6, N9, K1: initialises the dedicated server from Robot", async () => {
    await settled(async () => {
      const { metadata, spec, status } = await world.core.readNode({ name: "metal" });
      expect(spec?.providerID).toBe("hrobot://77");
      expect(spec?.taints).toBeUndefined();
      expect(metadata?.labels).toMatchObject({
        "instance.hetzner.cloud/provided-by": "robot",
        "node.kubernetes.io/instance-type": "AX41-NVMe",
        "topology.kubernetes.io/region": "fsn1",
        "topology.kubernetes.io/zone": "fsn1-dc8",
      });
      expect(status?.addresses).toContainEqual({ type: "ExternalIP", address: "203.0.113.77" });
    });
  });

  it("HCCM T1: adds both as targets of a load balancer, with the real plugin", async () => {
    await settled(() => {
      expect(targets()).toHaveLength(2);
      expect(ips()).toEqual(["203.0.113.77"]);
    });
  });

  it("recognises the IP target and changes nothing after a restart without state", async () => {
    await controller.stop();
    const writesBefore = world.cloud.journal.writes.length;
    controller = start();
    await world.core.patchNamespacedService({
      namespace: "default",
      name: "web",
      body: [
        {
          op: "add",
          path: "/metadata/annotations/load-balancer.hetzner.cloud~1algorithm-type",
          value: "least_connections",
        },
      ],
    });
    await settled(() => {
      expect(world.cloud.state.loadBalancers.values()[0]?.algorithm.type).toBe("least_connections");
    });
    await settled(() => expect(controller.records("run finished")).not.toEqual([]));
    const writes = world.cloud.journal.writes.slice(writesBefore).map(({ route }) => route);
    expect(writes).toEqual([expect.stringContaining("change_algorithm")]);
  });

  it("unlike HCCM E26: routes the cloud node, and does not touch the network of the dedicated one", async () => {
    const routes = world.cloud.state.networks.get(world.networkId)?.routes ?? [];
    expect(routes.map(({ destination }) => destination)).toEqual(["10.244.1.0/24"]);
    const { status } = await world.core.readNode({ name: "metal" });
    expect(status?.conditions?.map(({ type }) => type)).not.toContain("NetworkUnavailable");
    expect(await world.eventsAbout("metal")).toEqual(["Synced: Node synced successfully"]);
  });

  it("keeps node and target while Robot rejects requests, and deletes them when the server no longer exists", async () => {
    robot.isExhausted = true;
    await metal.setReady(false);
    await settled(() =>
      expect(controller.records("reading a node's dedicated server failed").length).toBeGreaterThan(0),
    );
    expect(ips()).toEqual(["203.0.113.77"]);
    await controller.stop();
    await metal.stop();
    robot.isExhausted = false;
    robot.servers.set(78, { ...METAL, server_number: 78, server_name: "other" });
    robot.servers.delete(77);
    controller = start();
    await settled(() => expect(ips()).toEqual([]));
    const { items } = await world.core.listNode();
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(["node-1"]);
  });
});
