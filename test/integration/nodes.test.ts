import type { V1Node } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SimNode } from "../../dev-env/cluster/cluster.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { IDENTITY, startWorld, type World } from "../support/world.ts";

const UNINITIALISED = { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" };
const SHUTDOWN = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };
/** Path of the controller's ClusterRole. */
const ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/lotse";

let world: World;
const nodes = new Map<number, SimNode>();
const read = (name: string): Promise<V1Node> => world.core.readNode({ name });
const names = async () => (await world.core.listNode()).items.map(({ metadata }) => metadata?.name);
const serverId = (name: string) => world.cloud.state.servers.find(name)?.id ?? 0;
const isInitialised = async (name: string) =>
  eventually(async () => expect((await read(name)).spec?.providerID).toMatch(/^hcloud:/));

beforeAll(async () => {
  world = await startWorld({ nodes: 0 });
  for (const index of [1, 2, 3]) nodes.set(index, await world.addNode(index));
});
afterAll(() => world[Symbol.asyncDispose]());

describe("node lifecycle", () => {
  let controller: ControllerProcess;
  const listings = () => world.cloud.journal.count({ method: "GET", path: "**/servers" });

  beforeAll(async () => {
    // Only the lifecycle loop lists servers, because the others are idle during these tests.
    controller = world.startController(["--node-monitor-period=1s", "--resync=10m"]);
    for (const index of nodes.keys()) await isInitialised(`node-${index}`);
  });
  afterAll(() => controller.stop());

  it("framework L07, HCCM K8: taints a node that is not Ready if its server is off", async () => {
    await world.changeCloud("POST", `/servers/${serverId("node-1")}/actions/poweroff`);
    await nodes.get(1)?.setReady(false);
    await eventually(async () => expect((await read("node-1")).spec?.taints).toContainEqual(SHUTDOWN));
  });

  it("framework L16: removes the taint when the node is Ready again, and then no longer polls the cloud", async () => {
    await world.changeCloud("POST", `/servers/${serverId("node-1")}/actions/poweron`);
    await nodes.get(1)?.setReady(true);
    await eventually(async () => expect((await read("node-1")).spec?.taints ?? []).not.toContainEqual(SHUTDOWN));
    const before = listings();
    await world.addNode(4);
    await isInitialised("node-4");
    expect(listings() - before).toBeLessThanOrEqual(2);
  });

  it("framework L02: keeps a node while its server cannot be read, and deletes it afterwards", async () => {
    const id = serverId("node-2");
    await world.changeCloud("DELETE", `/servers/${id}`);
    const outage = world.cloud.faults.add({ path: "/servers/*", effect: { kind: "error", code: "service_error" } });
    await nodes.get(2)?.setReady(false);
    await eventually(() => expect(outage.struck).toBeGreaterThan(2));
    expect(await names()).toContain("node-2");
    outage.remove();
    await nodes.get(2)?.stop();
    await eventually(async () => expect(await names()).not.toContain("node-2"));
  });

  it("framework L01, L18: deletes a node with an Event, and its route", async () => {
    const events = await world.events();
    const event = events.find(
      ({ reason, involvedObject }) => reason === "DeletingNode" && involvedObject.name === "node-2",
    );
    expect(event).toMatchObject({
      type: "Normal",
      message: "Deleting node node-2 because it does not exist in the cloud provider",
      source: { component: "cloud-node-lifecycle-controller" },
      involvedObject: { apiVersion: "v1", kind: "Node", uid: expect.stringMatching(/.+/) },
    });
    await eventually(() => {
      const routes = world.cloud.state.networks.get(world.networkId)?.routes ?? [];
      expect(routes.map(({ destination }) => destination)).not.toContain("10.244.2.0/24");
    });
  });

  it("framework L06: keeps a Ready node, although its server does not exist", async () => {
    await world.changeCloud("DELETE", `/servers/${serverId("node-3")}`);
    const before = listings();
    await world.cluster.registerNode({ name: "stray", isReady: false });
    await eventually(() => expect(listings()).toBeGreaterThan(before + 2));
    expect(await names()).toContain("node-3");
  });

  it("unlike framework L09: reports a node that never had a server, and does not delete it", async () => {
    await eventually(async () => {
      expect(await world.eventsAbout("stray")).toEqual([expect.stringMatching(/^InitializationFailed: /)]);
    });
    expect(await names()).toContain("stray");
  });

  it("unlike HCCM R7: reports a route that could not be created, and creates it later without a trigger", async () => {
    const path = "/networks/*/actions/add_route";
    const outage = world.cloud.faults.add({ path, effect: { kind: "error", code: "service_error" } });
    await world.addNode(5);
    const condition = async () =>
      (await read("node-5")).status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
    await eventually(async () => expect(await condition()).toMatchObject({ status: "True", reason: "NoRouteCreated" }));
    await eventually(async () => expect((await world.eventsAbout("node-5")).join()).toContain("FailedToCreateRoute: "));
    outage.remove();
    await eventually(async () => expect(await condition()).toMatchObject({ status: "False", reason: "RouteCreated" }));
    const routes = world.cloud.state.networks.get(world.networkId)?.routes ?? [];
    expect(routes.map(({ destination }) => destination)).toContain("10.244.5.0/24");
  });
});

describe("nodes that join", () => {
  let controller: ControllerProcess;
  const env = { LOTSE_NODE_LABELS_FROM_SERVER: "example.com/", HCLOUD_INSTANCES_ADDRESS_FAMILY: "dualstack" };
  const label = async (name: string, key: string) => (await read(name)).metadata?.labels?.[key];

  beforeAll(() => {
    controller = world.startController([], env);
  });
  afterAll(() => controller.stop());

  it("framework N16, unlike framework N32: have the labels of their server, also after these and its type have changed", async () => {
    const labels = { "example.com/pool": "blue", "other.com/x": "y" };
    const server = world.cloud.addServer({ name: "labelled", labels, status: "off" });
    await world.cluster.registerNode({ name: "labelled" });
    await eventually(async () => expect(await label("labelled", "example.com/pool")).toBe("blue"));
    expect(await label("labelled", "other.com/x")).toBeUndefined();
    await world.changeCloud("PUT", `/servers/${server.id}`, { labels: { "example.com/pool": "green" } });
    await world.changeCloud("POST", `/servers/${server.id}/actions/change_type`, {
      server_type: "cx33",
      upgrade_disk: false,
    });
    await eventually(
      async () => {
        expect(await label("labelled", "example.com/pool")).toBe("green");
        expect(await label("labelled", "node.kubernetes.io/instance-type")).toBe("cx33");
      },
      { timeoutMs: 45_000 },
    );
  });

  it("framework N31, HCCM N8: have their private address once their server is in the network", async () => {
    const { id } = world.cloud.addServer({ name: "late" });
    await world.cluster.registerNode({ name: "late" });
    await isInitialised("late");
    await world.changeCloud("POST", `/servers/${id}/actions/attach_to_network`, { network: world.networkId });
    const ip = world.cloud.state.servers.get(id)?.private_net[0]?.ip;
    await eventually(
      async () => expect((await read("late")).status?.addresses).toContainEqual({ type: "InternalIP", address: ip }),
      { timeoutMs: 45_000 },
    );
  });

  it("get an Event with the server that was probably meant if none has their name", async () => {
    const { id } = world.cloud.addServer({ name: "worker.example.com" });
    await world.cluster.registerNode({ name: "worker", nodeIp: "10.0.1.99" });
    await eventually(
      async () => expect((await world.eventsAbout("worker")).join()).toContain(`--provider-id=hcloud://${id}`),
      { timeoutMs: 20_000 },
    );
  });

  it("framework N07, N27: stay unchanged while they have no server", async () => {
    const { metadata, spec, status } = await read("worker");
    expect(spec?.taints).toContainEqual(UNINITIALISED);
    expect(spec?.providerID).toBeUndefined();
    expect(metadata?.labels).not.toHaveProperty(["node.kubernetes.io/instance-type"]);
    expect(status?.addresses).toEqual([
      { type: "InternalIP", address: "10.0.1.99" },
      { type: "Hostname", address: "worker" },
    ]);
  });

  /** Whether the controller may write the status of Nodes. */
  const mayPatchStatus = async () => {
    const resourceAttributes = { verb: "patch", resource: "nodes", subresource: "status" };
    const review = { spec: { user: IDENTITY.name, resourceAttributes } };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    return (await world.observer.create<{ status: { allowed: boolean } }>(path, review)).status.allowed;
  };

  it("framework N30: get their addresses once writing them succeeds", async () => {
    const { rules } = await world.observer.get<{ rules: readonly { resources: readonly string[] }[] }>(ROLE);
    const setRules = (list: typeof rules) => world.observer.patch(ROLE, "merge", { rules: list });
    await setRules(rules.filter(({ resources }) => !resources.includes("nodes/status")));
    // The API server learns of changed roles from a watch.
    await eventually(async () => expect(await mayPatchStatus()).toBe(false));
    const { private_net } = world.cloud.addServer({ name: "unwritable", network: world.networkId });
    await world.cluster.registerNode({ name: "unwritable" });
    await isInitialised("unwritable");
    const failures = () => controller.records("turn failed, retrying").filter(({ loop }) => loop === "nodes").length;
    const before = failures();
    await eventually(() => expect(failures()).toBeGreaterThan(before));
    expect((await read("unwritable")).spec?.taints ?? []).not.toContainEqual(UNINITIALISED);
    const internal = { type: "InternalIP", address: private_net[0]?.ip };
    expect((await read("unwritable")).status?.addresses).not.toContainEqual(internal);
    await setRules(rules);
    await eventually(async () => expect((await read("unwritable")).status?.addresses).toContainEqual(internal));
  });

  it("HCCM P18: get the IPv6 address of their annotation, also if it is added later", async () => {
    const server = world.cloud.addServer({ name: "stated" });
    await world.cluster.registerNode({ name: "stated" });
    await isInitialised("stated");
    const annotate = (address: string) =>
      world.observer.patch("/api/v1/nodes/stated", "merge", {
        metadata: { annotations: { "instance.hetzner.cloud/external-ipv6": address } },
      });
    const network = server.public_net.ipv6?.ip.replace("::/64", "");
    await annotate(`${network}::5`);
    await eventually(async () =>
      expect((await read("stated")).status?.addresses).toContainEqual({
        type: "ExternalIP",
        address: `${network}::5`,
      }),
    );
    await annotate("::1");
    await eventually(
      async () => expect((await world.eventsAbout("stated")).join()).toContain("InvalidExternalIPv6: Node stated"),
      { timeoutMs: 20_000 },
    );
    expect((await read("stated")).status?.addresses).toContainEqual({ type: "ExternalIP", address: `${network}::5` });
  });

  it("framework N10, HCCM N16: get an Event that names the network missing for their --node-ip", async () => {
    world.cloud.addServer({ name: "detached" });
    await world.cluster.registerNode({ name: "detached", nodeIp: "10.0.1.77" });
    await eventually(
      async () =>
        expect((await world.eventsAbout("detached")).join()).toContain(`not attached to network ${world.networkId}`),
      { timeoutMs: 20_000 },
    );
    expect((await read("detached")).spec?.providerID).toBeUndefined();
  });
});
