import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startCloud } from "../../dev-env/cloud/cloud.ts";
import { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

describe("one Service, from a fresh cluster to its deletion", () => {
  let world: World;
  let controller: ControllerProcess;
  const balancers = () => world.cloud.state.loadBalancers.values();
  const service = (name: string) => world.core.readNamespacedService({ namespace: "default", name });

  beforeAll(async () => {
    world = await startWorld({ nodes: 3 });
    await world.createService("web", { "use-private-ip": "true" }, [80, 443]);
    controller = world.startController();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it("initialises nodes: removes the taint, sets providerID, labels and addresses", async () => {
    for (const server of world.cloud.state.servers.values()) {
      await eventually(async () => {
        const { metadata, spec, status } = await world.core.readNode({ name: server.name });
        expect(spec?.taints ?? []).not.toContainEqual(
          expect.objectContaining({ key: "node.cloudprovider.kubernetes.io/uninitialized" }),
        );
        expect(spec?.providerID).toBe(`hcloud://${server.id}`);
        expect(metadata?.labels).toMatchObject({
          "node.kubernetes.io/instance-type": server.server_type.name,
          "topology.kubernetes.io/region": "fsn1",
          "topology.kubernetes.io/zone": "fsn1-dc14",
          "instance.hetzner.cloud/provided-by": "cloud",
        });
        expect(status?.addresses).toEqual([
          { type: "InternalIP", address: server.private_net[0]?.ip },
          { type: "Hostname", address: server.name },
          { type: "ExternalIP", address: server.public_net.ipv4?.ip },
        ]);
      });
    }
  });

  it("HCCM S12, S16: creates the load balancer and publishes its addresses", async () => {
    const ports = (await service("web")).spec?.ports ?? [];
    await eventually(async () => {
      const ingress = (await service("web")).status?.loadBalancer?.ingress ?? [];
      const [balancer] = balancers();
      expect(ingress.map(({ ip }) => ip)).toEqual([
        balancer?.public_net.ipv4.ip,
        balancer?.public_net.ipv6.ip,
        balancer?.private_net[0]?.ip,
      ]);
    });
    const [balancer] = balancers();
    expect(balancers()).toHaveLength(1);
    expect(balancer?.labels).toEqual({ "hcloud-ccm/service-uid": (await service("web")).metadata?.uid });
    expect(balancer?.private_net).toEqual([{ network: world.networkId, ip: expect.any(String) }]);
    const listeners = balancer?.services.map(({ listen_port, destination_port }) => [listen_port, destination_port]);
    expect(listeners?.toSorted()).toEqual(ports.map(({ port, nodePort }) => [port, nodePort]).toSorted());
    const servers = world.cloud.state.servers.values().map(({ id }) => id);
    expect(targetIds(balancer).toSorted()).toEqual(servers.toSorted());
    expect(balancer?.targets.every((target) => target.type === "server" && target.use_private_ip)).toBe(true);
  });

  it("routes the pods of every node, and marks its network as available", async () => {
    const nodes = await world.core.listNode();
    await eventually(async () => {
      const routes = world.cloud.state.networks.get(world.networkId)?.routes ?? [];
      const gateways = new Map(
        world.cloud.state.servers.values().map(({ name, private_net }) => [name, private_net[0]?.ip]),
      );
      expect(new Set(routes.map(({ destination, gateway }) => `${destination} via ${gateway}`))).toEqual(
        new Set(nodes.items.map(({ metadata, spec }) => `${spec?.podCIDR} via ${gateways.get(metadata?.name ?? "")}`)),
      );
    });
    await eventually(async () => {
      for (const { status } of (await world.core.listNode()).items) {
        expect(status?.conditions).toContainEqual(
          expect.objectContaining({ type: "NetworkUnavailable", status: "False", reason: "RouteCreated" }),
        );
      }
    });
  });

  it("framework S73: writes nothing to the cloud if nothing changed, also after a restart without state", async () => {
    await controller.stop();
    const writesBefore = world.cloud.journal.writes.length;
    controller = world.startController();
    const calls = () => world.cloud.journal.count({ method: "GET", path: "**/load_balancers" });
    const seen = calls();
    await eventually(() => expect(calls()).toBeGreaterThan(seen + 2));
    expect(world.cloud.journal.writes.slice(writesBefore)).toEqual([]);
  });

  it("unlike HCCM S2: repairs drift, and changes nothing else", async () => {
    const [before] = balancers();
    const runs = () => controller.records("run finished").length;
    const [writesBefore, runsBefore] = [world.cloud.journal.writes.length, runs()];
    const [removed] = targetIds(before);
    await world.changeCloud("POST", `/load_balancers/${before?.id}/actions/remove_target`, {
      type: "server",
      server: { id: removed },
    });
    await eventually(() => expect(targetIds(balancers()[0])).toContain(removed));
    await eventually(() => expect(runs()).toBeGreaterThan(runsBefore));
    const writes = world.cloud.journal.writes.slice(writesBefore).map(({ route }) => route);
    expect(writes).toEqual([expect.stringContaining("remove_target"), expect.stringContaining("add_target")]);
  });

  it("holds back only the part with an invalid annotation, reports it once, and serves everything else", async () => {
    const [before] = balancers();
    const patch = [
      { op: "add", path: "/metadata/annotations/load-balancer.hetzner.cloud~1protocol", value: "tpc" },
      {
        op: "add",
        path: "/metadata/annotations/load-balancer.hetzner.cloud~1algorithm-type",
        value: "least_connections",
      },
    ];
    await world.core.patchNamespacedService({ namespace: "default", name: "web", body: patch });
    await world.createService("other");
    await eventually(async () =>
      expect((await service("other")).status?.loadBalancer?.ingress?.length).toBeGreaterThan(0),
    );
    await eventually(async () => {
      const failures = (await world.eventsAbout("web")).filter((event) => event.startsWith("SyncLoadBalancerFailed"));
      expect(failures).toEqual([
        'SyncLoadBalancerFailed: Error syncing load balancer: annotation load-balancer.hetzner.cloud/protocol: "tpc" is not one of tcp, http, https',
      ]);
    });
    await eventually(() =>
      expect(balancers().find(({ id }) => id === before?.id)).toEqual({
        ...before,
        algorithm: { type: "least_connections" },
      }),
    );
  });

  it("deletes the load balancer of a deleted Service, even an invalid one, and removes the finalizer", async () => {
    for (const name of ["web", "other"]) await world.core.deleteNamespacedService({ namespace: "default", name });
    await eventually(async () => {
      const { items } = await world.core.listNamespacedService({ namespace: "default" });
      expect(items.map(({ metadata }) => metadata?.name)).toEqual(["kubernetes"]);
    });
    expect(balancers()).toEqual([]);
    // Written after the finalizer was removed, and thus after the Service is gone.
    await eventually(async () =>
      expect(await world.eventsAbout("web")).toContain("DeletedLoadBalancer: Deleted load balancer"),
    );
  });

  it("removes the route of a deleted node", async () => {
    await world.core.deleteNode({ name: "node-3" });
    await eventually(() => {
      const destinations = world.cloud.state.networks
        .get(world.networkId)
        ?.routes.map(({ destination }) => destination);
      expect(destinations?.toSorted()).toEqual(["10.244.1.0/24", "10.244.2.0/24"]);
    });
  });

  function targetIds(balancer: ReturnType<typeof balancers>[number] | undefined): number[] {
    return (balancer?.targets ?? []).flatMap((target) => (target.type === "server" ? [target.server.id] : []));
  }
});

describe("a controller that cannot start", () => {
  const failure = async (flags: readonly string[], env: Readonly<Record<string, string>>) => {
    const controller = new ControllerProcess({ flags, env });
    return { code: await controller.ended, output: controller.output };
  };
  const token = "t".repeat(64);

  it.each([
    [
      "an unknown flag",
      ["--cluster-cdir=10.0.0.0/8"],
      { HCLOUD_TOKEN: token },
      /^error: unknown option '--cluster-cdir'/,
    ],
    ["a missing token", [], {}, /^lotse: HCLOUD_TOKEN is not set: create an API token/],
    [
      "a bad value",
      ["--cluster-cidr=10.0.0.0"],
      { HCLOUD_TOKEN: token },
      /^lotse: --cluster-cidr: "10.0.0.0" is not one CIDR, or one per IP family$/,
    ],
    [
      "an API that does not answer",
      ["--kubeconfig=none"],
      { HCLOUD_TOKEN: token, HCLOUD_ENDPOINT: "http://127.0.0.1:9/v1" },
      /^lotse: the Hetzner API at http:\/\/127.0.0.1:9\/v1 cannot be used: .*ECONNREFUSED/,
    ],
  ])("reports the mistake in one line: %s", async (_, flags, env, expected) => {
    const { code, output } = await failure(flags, env);
    expect(code).toBe(1);
    expect(output.split("\n")[0]).toMatch(expected);
    expect(output.trim().split("\n").length).toBeLessThanOrEqual(2);
  });

  it("reports the mistake in one line: an unreachable Kubernetes API server", async () => {
    const cloud = await startCloud();
    const dir = await mkdtemp(join(tmpdir(), "lotse-kubeconfig-"));
    try {
      const kubeconfig = join(dir, "kubeconfig");
      const config = {
        "current-context": "dead",
        contexts: [{ name: "dead", context: { cluster: "dead", user: "nobody" } }],
        clusters: [{ name: "dead", cluster: { server: "https://127.0.0.1:9" } }],
      };
      await writeFile(kubeconfig, JSON.stringify(config));
      const env = { HCLOUD_TOKEN: cloud.token, HCLOUD_ENDPOINT: cloud.url };
      expect(await failure([`--kubeconfig=${kubeconfig}`], env)).toEqual({
        code: 1,
        output: "lotse: GET /version: connection refused by 127.0.0.1:9",
      });
    } finally {
      await rm(dir, { recursive: true, force: true });
      await cloud.stop();
    }
  });

  it("reports every mistake at once", async () => {
    const { output } = await failure(["--cluster-cidr=x", "--v=y"], { HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: "maybe" });
    expect(output.split("\n")).toHaveLength(4);
  });
});
