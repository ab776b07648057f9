import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FINALIZER } from "../../controller/formats/finalizer.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const SLOW = { timeoutMs: 60_000, intervalMs: 200 };
const UID_LABEL = "hcloud-ccm/service-uid";

describe("load balancers that existed before their Services", () => {
  let world: World;
  let controller: ControllerProcess;
  let database: number;
  const balancer = (name: string) => world.cloud.state.loadBalancers.find(name);
  const service = (name: string) => world.core.readNamespacedService({ namespace: "default", name });
  const ports = (name: string) =>
    balancer(name)
      ?.services.map(({ listen_port }) => listen_port)
      .toSorted((a, b) => a - b);
  const uidOf = async (name: string) => (await service(name)).metadata?.uid;
  const hasAddress = async (name: string) =>
    expect((await service(name)).status?.loadBalancer?.ingress ?? []).not.toEqual([]);

  /** Created manually: a listener, a server that is not a node, and a label selector. */
  const makeByHand = (name: string, labels: Record<string, string> = {}) =>
    world.changeCloud("POST", "/load_balancers", {
      name,
      labels,
      load_balancer_type: "lb11",
      location: "fsn1",
      services: [{ protocol: "tcp", listen_port: 8443, destination_port: 443, proxyprotocol: false }],
      targets: [
        { type: "server", server: { id: database } },
        { type: "label_selector", label_selector: { selector: "role=db" } },
      ],
    });
  const annotate = (name: string, annotation: string, value: string) =>
    world.core.patchNamespacedService({
      namespace: "default",
      name,
      body: [{ op: "add", path: `/metadata/annotations/load-balancer.hetzner.cloud~1${annotation}`, value }],
    });
  const foreignParts = (name: string) => [
    ports(name)?.includes(8443),
    balancer(name)?.targets.some((target) => target.type === "server" && target.server.id === database),
    balancer(name)?.targets.some((target) => target.type === "label_selector"),
  ];

  beforeAll(async () => {
    world = await startWorld({ nodes: 2 });
    database = world.cloud.addServer({ name: "database" }).id;
    for (const name of ["by-hand", "by-id", "kept"]) await makeByHand(name, { team: "ops" });
    await world.changeCloud("POST", "/load_balancers", { name: "empty", load_balancer_type: "lb11", location: "fsn1" });
    await makeByHand("taken", { [UID_LABEL]: "another" });
    await world.createService("named", { name: "by-hand" });
    await world.createService("numbered", { id: String(balancer("by-id")?.id) });
    await world.createService("filler", { name: "empty", "algorithm-type": "least_connections" });
    await world.createService("thief", { name: "taken" });
    await world.createService("missing", { id: "99999" });
    await world.createService("keeper", { "on-delete": "keep", name: "mine" });
    await world.core.createNamespacedService({
      namespace: "default",
      body: {
        metadata: { name: "other-class", finalizers: [FINALIZER] },
        spec: { type: "LoadBalancer", loadBalancerClass: "example.com/other", ports: [{ port: 80 }] },
      },
    });
    controller = world.startController();
    await eventually(() => Promise.all(["named", "numbered", "filler", "keeper"].map(hasAddress)), SLOW);
  }, 180_000);
  afterAll(() => world[Symbol.asyncDispose]());

  it.each([
    ["by name", "named", "by-hand"],
    ["by id, under the name it has", "numbered", "by-id"],
  ])("HCCM S11, unlike HCCM V3, T2: are adopted %s, with an Event, and foreign parts stay", async (_, owner, name) => {
    expect(balancer(name)?.labels).toMatchObject({ [UID_LABEL]: await uidOf(owner), team: "ops" });
    expect(ports(name)).toEqual([80, 8443]);
    expect(foreignParts(name)).toEqual([true, true, true]);
    expect(balancer(name)?.targets).toHaveLength(4);
    const events = await world.eventsAbout(owner);
    expect(events).toContainEqual(expect.stringMatching(/^AdoptingLoadBalancer: Taking over load balancer/));
    await eventually(async () =>
      expect(await world.eventsAbout(owner)).toContainEqual(expect.stringMatching(/^ForeignPartsKept: listener-8443/)),
    );
  });

  it.each([
    ["thief", "belongs to the Service with UID another"],
    ["missing", "load balancer 99999 does not exist"],
  ])("unlike HCCM S18: are never taken from another owner, and no other is created (%s)", async (name, words) => {
    await eventually(async () => {
      const failures = (await world.eventsAbout(name)).filter((event) => event.startsWith("SyncLoadBalancerFailed"));
      expect(failures).toEqual([expect.stringContaining(words)]);
    }, SLOW);
    expect(balancer("taken")).toMatchObject({ labels: { [UID_LABEL]: "another" }, targets: [{}, {}] });
  });

  it("keep a listener whose port the Service declares later, until it is deleted by hand", async () => {
    const { spec } = await service("named");
    const value = [{ name: "db", port: 8443 }, ...(spec?.ports ?? [])];
    const body = [{ op: "replace", path: "/spec/ports", value }];
    const patched = await world.core.patchNamespacedService({ namespace: "default", name: "named", body });
    const nodePort = patched.spec?.ports?.find(({ port }) => port === 8443)?.nodePort;
    const destination = () =>
      balancer("by-hand")?.services.find(({ listen_port }) => listen_port === 8443)?.destination_port;
    await eventually(async () => {
      const refusal =
        /^SyncLoadBalancerFailed: .*port 8443 is not served: load balancer "by-hand".*: delete that listener/;
      expect(await world.eventsAbout("named")).toContainEqual(expect.stringMatching(refusal));
    }, SLOW);
    expect(destination()).toBe(443);
    const path = `/load_balancers/${balancer("by-hand")?.id}/actions/delete_service`;
    await world.changeCloud("POST", path, { listen_port: 8443 });
    await eventually(() => expect(destination()).toBe(nodePort), SLOW);
    const only = [{ op: "replace", path: "/spec/ports", value: value.slice(1) }];
    await world.core.patchNamespacedService({ namespace: "default", name: "named", body: only });
    await eventually(() => expect(ports("by-hand")).toEqual([80]), SLOW);
  });

  it("unlike HCCM A2: are never moved, and an Event reports it", async () => {
    const before = balancer("mine");
    await annotate("keeper", "location", "nbg1");
    await eventually(
      async () =>
        expect(await world.eventsAbout("keeper")).toContainEqual(expect.stringMatching(/^LoadBalancerNotMoved/)),
      SLOW,
    );
    expect(balancer("mine")).toEqual(before);
  });

  it("unlike HCCM S4, S17: lose the target of a node that is about to leave, at once, despite other mistakes", async () => {
    await annotate("keeper", "protocol", "tpc");
    const body = [
      { op: "add", path: "/spec/taints", value: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }] },
    ];
    await world.core.patchNode({ name: "node-2", body });
    const leaving = world.cloud.state.servers.find("node-2")?.id;
    await eventually(() => {
      for (const name of ["mine", "by-hand"]) {
        const targets = balancer(name)?.targets ?? [];
        expect(
          targets.some((target) => target.type === "server" && target.server.id === leaving),
          name,
        ).toBe(false);
      }
    }, SLOW);
    await eventually(async () => {
      expect(await world.eventsAbout("keeper")).toContainEqual(expect.stringMatching(/^SyncLoadBalancerFailed.*"tpc"/));
      expect(await world.eventsAbout("named")).toContain("UpdatedLoadBalancer: Updated load balancer with new hosts");
    }, SLOW);
  });

  const deleteService = async (name: string) => {
    await world.core.deleteNamespacedService({ namespace: "default", name });
    await eventually(async () => {
      const { items } = await world.core.listNamespacedService({ namespace: "default" });
      expect(items.map(({ metadata }) => metadata?.name)).not.toContain(name);
    }, SLOW);
  };

  it("are kept on request, unchanged and without an owner", async () => {
    const before = balancer("mine");
    await deleteService("keeper");
    const { labels: _, ...rest } = before ?? { labels: {} };
    expect(balancer("mine")).toMatchObject(rest);
    expect(balancer("mine")?.labels).not.toHaveProperty(UID_LABEL);
    await eventually(async () =>
      expect(await world.eventsAbout("keeper")).toContainEqual(expect.stringMatching(/^LoadBalancerKept/)),
    );
  });

  it("that were left behind return only to a Service of the same namespace and name", async () => {
    const { id } = balancer("mine") ?? {};
    await world.createService("squatter", { name: "mine" });
    await eventually(async () => {
      const refusal = `"mine" (id ${id}) is reserved for default/keeper: hand it over with \`lotse adopt default/squatter --load-balancer ${id}\``;
      expect(await world.eventsAbout("squatter")).toContainEqual(expect.stringContaining(refusal));
    }, SLOW);
    expect(balancer("mine")?.labels).not.toHaveProperty(UID_LABEL);
    await world.createService("keeper", { name: "mine" }, [81]);
    await eventually(() => hasAddress("keeper"), SLOW);
    expect(balancer("mine")).toMatchObject({ id, labels: { [UID_LABEL]: await uidOf("keeper") } });
    await deleteService("squatter");
  });

  it("that were empty are adopted with all settings, and outlive their Services, across a restart", async () => {
    expect(balancer("empty")).toMatchObject({ algorithm: { type: "least_connections" }, services: [{}] });
    expect(await world.eventsAbout("filler")).not.toContainEqual(expect.stringMatching(/^ForeignPartsKept/));
    await controller.stop();
    controller = world.startController();
    await deleteService("filler");
    expect(balancer("empty")).toMatchObject({ services: [], targets: [] });
    expect(balancer("empty")?.labels).toMatchObject({ "lotse/released-name": "filler", "lotse/adopted": "true" });
    expect(balancer("empty")?.labels).not.toHaveProperty(UID_LABEL);
  });

  it("are kept if others use them, without the parts of the Service, even if removing these fails at first", async () => {
    const path = `/load_balancers/${balancer("by-id")?.id}/actions/delete_service`;
    world.cloud.faults.add({ path, times: 2, effect: { kind: "error", code: "server_error", status: 500 } });
    await deleteService("numbered");
    expect(ports("by-id")).toEqual([8443]);
    expect(foreignParts("by-id")).toEqual([true, true, true]);
    expect(balancer("by-id")?.targets).toHaveLength(2);
    expect(balancer("by-id")?.labels).not.toHaveProperty(UID_LABEL);
  });

  it("unlike framework S69: are not touched for a Service of another class, nor is its finalizer", async () => {
    await world.core.deleteNamespacedService({ namespace: "default", name: "other-class" });
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect((await service("other-class")).metadata?.finalizers).toEqual([FINALIZER]);
    expect(await world.eventsAbout("other-class")).toEqual([]);
  });
});
