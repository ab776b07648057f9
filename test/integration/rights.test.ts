import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mergePatch } from "../../dev-env/cluster/api.ts";
import type { SimNode } from "../../dev-env/cluster/cluster.ts";
import { findFreePort } from "../../dev-env/cluster/loopback.ts";
import { allows, describeRight, requestsOf, rightsOf } from "../support/audit-log.ts";
import { parseObjects } from "../support/chart.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { askSecurePort } from "../support/secure-port.ts";
import { startWorld, type World } from "../support/world.ts";

const MANIFEST = new URL("../../controller/deploy/manifests/lotse.yaml", import.meta.url);

/** One of everything that the controller does to objects of the API server, as its audit log saw it. */
describe("the rights in the manifest", () => {
  let world: World;
  let controller: ControllerProcess;
  let port: number;
  const nodes: SimNode[] = [];
  const has = (verb: string, resource: string) =>
    requestsOf(world.cluster).some((request) => request.verb === verb && request.resource === resource);
  const used = (verb: string, resource: string) =>
    eventually(() => expect(has(verb, resource), `${verb} ${resource}`).toBe(true));

  beforeAll(async () => {
    world = await startWorld({ nodes: 0, isAudited: true });
    for (const index of [1, 2]) nodes.push(await world.addNode(index));
    controller = world.startController(["--node-monitor-period=1s"]);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it("let nodes be initialised, routed, and deleted with their server", async () => {
    await used("patch", "nodes");
    await used("patch", "nodes/status");
    await world.changeCloud("DELETE", `/servers/${world.cloud.state.servers.find("node-2")?.id}`);
    await nodes[1]?.setReady(false);
    await nodes[1]?.stop();
    await used("delete", "nodes");
  });

  it("let a node be read again when somebody else has written to it meanwhile", async () => {
    const taints = [{ key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }];
    for (let write = 1; !has("get", "nodes") && write < 1_000; write++) {
      const body = { metadata: { annotations: { "example.com/write": `${write}` } }, spec: { taints } };
      await world.core.patchNode({ name: "node-1", body }, mergePatch());
    }
    await used("get", "nodes");
  });

  it("let Services get a balancer, be told what is wrong with them more than once, and go", async () => {
    await world.createService("web");
    await eventually(async () => {
      const { status } = await world.core.readNamespacedService({ namespace: "default", name: "web" });
      expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
    });
    for (const lb of [1, 2]) {
      const [balancer] = world.cloud.state.loadBalancers.values();
      const [target] = balancer?.targets ?? [];
      expect(target?.type).toBe("server");
      const server = target?.type === "server" ? target.server.id : 0;
      await world.changeCloud("POST", `/load_balancers/${balancer?.id}/actions/remove_target`, {
        type: "server",
        server: { id: server },
      });
      await eventually(() => expect(world.cloud.state.loadBalancers.values()[0]?.targets, `${lb}`).toHaveLength(1));
    }
    await used("patch", "events");
    await world.core.deleteNamespacedService({ namespace: "default", name: "web" });
    await eventually(async () => {
      const { items } = await world.core.listNamespacedService({ namespace: "default" });
      expect(items.map(({ metadata }) => metadata?.name)).toEqual(["kubernetes"]);
    });
  });

  it("let the state be kept and found again, by one who leads", async () => {
    await used("create", "secrets");
    await used("update", "secrets");
    await used("update", "configmaps");
    await controller.stop();
    port = await findFreePort();
    controller = world.startController(["--leader-elect=true", `--secure-port=${port}`, "--approval=deletions"]);
    await eventually(() => expect(controller.records("controller running")).toHaveLength(1));
    await used("update", "leases");
    await used("watch", "configmaps");
  });

  it("let it find out who asks for metrics, and whether they may", async () => {
    const body = { spec: { audiences: [], expirationSeconds: 3_600 } };
    await world.core.createNamespacedServiceAccount({ namespace: "default", body: { metadata: { name: "reader" } } });
    const request = { namespace: "default", name: "reader", body };
    const { status } = await world.core.createNamespacedServiceAccountToken(request);
    expect((await askSecurePort(port, "/metrics", status?.token ?? "")).status).toBe(403);
    await used("create", "tokenreviews");
    await used("create", "subjectaccessreviews");
  });

  it("are enough: nothing was forbidden", () => {
    const requests = requestsOf(world.cluster);
    expect(requests.length).toBeGreaterThan(20);
    expect(requests.filter(({ status }) => status === 403).map(describeRight)).toEqual([]);
  });

  it("are no more than it takes: each was used", async () => {
    const requests = requestsOf(world.cluster);
    const rights = rightsOf(parseObjects(await readFile(MANIFEST, "utf8")));
    const idle = rights.filter((right) => !requests.some((request) => allows(right, request)));
    expect(idle.map(describeRight)).toEqual([]);
  });
});
