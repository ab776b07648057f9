import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parsePending, withApprovals } from "../../controller/guard/approval.ts";
import { OwnConfigMap } from "../../controller/kube/config-map.ts";
import { mergePatch } from "../../dev-env/cluster/api.ts";
import type { SimNode } from "../../dev-env/cluster/cluster.ts";
import { findFreePort } from "../../dev-env/cluster/loopback.ts";
import { describeRight, idleRights, type Right, requestsOf, rightsOf } from "../support/audit-log.ts";
import { objectsOf } from "../support/chart.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { askSecurePort } from "../support/secure-port.ts";
import { startWorld, type World } from "../support/world.ts";

/**
 * All features that need rights. The plain manifest has the same rights except Secrets, as a test of the chart shows.
 */
const VALUES = { tlsSecrets: { enabled: true } };
const SECRETS = { LOTSE_TLS_SECRETS: "true" };
/** The state is one object unless it is too large. */
const isSparePart = ({ name }: Right) => /^lotse-state-.*-\d+$/.test(name ?? "");

/** Makes the controller use every right once, and checks the audit log. */
describe("the rights in the chart", () => {
  let world: World;
  let controller: ControllerProcess;
  let port: number;
  let rights: readonly Right[];
  const nodes: SimNode[] = [];
  const has = (verb: string, resource: string) =>
    requestsOf(world.cluster).some((request) => request.verb === verb && request.resource === resource);
  const used = (verb: string, resource: string) =>
    eventually(() => expect(has(verb, resource), `${verb} ${resource}`).toBe(true));

  beforeAll(async () => {
    rights = rightsOf(await objectsOf(VALUES)).filter((right) => !isSparePart(right));
    world = await startWorld({ nodes: 0, isAudited: true, tlsSecrets: true });
    for (const index of [1, 2]) nodes.push(await world.addNode(index));
    controller = world.startController(["--node-monitor-period=1s"], SECRETS);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it("suffice to initialise and route nodes, and to delete them with their server", async () => {
    await used("patch", "nodes");
    await used("patch", "nodes/status");
    await world.changeCloud("DELETE", `/servers/${world.cloud.state.servers.find("node-2")?.id}`);
    await nodes[1]?.setReady(false);
    await nodes[1]?.stop();
    await used("delete", "nodes");
  });

  it("suffice to read a node again after a conflict", async () => {
    const taints = [{ key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }];
    for (let write = 1; !has("get", "nodes") && write < 1_000; write++) {
      const body = { metadata: { annotations: { "example.com/write": `${write}` } }, spec: { taints } };
      await world.core.patchNode({ name: "node-1", body }, mergePatch());
    }
    await used("get", "nodes");
  });

  it("suffice for load balancers of Services, repeated Events, and deletion", async () => {
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

  it("suffice for leader election, and to save and load the state", async () => {
    await used("create", "secrets");
    await used("update", "secrets");
    await used("update", "configmaps");
    await controller.stop();
    port = await findFreePort();
    const flags = ["--leader-elect=true", `--secure-port=${port}`, "--approval=deletions"];
    controller = world.startController(flags, SECRETS);
    await eventually(() => expect(controller.records("controller running")).toHaveLength(1));
    await used("update", "leases");
    await used("watch", "configmaps");
  });

  it("suffice to publish and remove a plan for approval", async () => {
    await world.createService("asked");
    const balancers = () => world.cloud.state.loadBalancers.values().length;
    await eventually(() => expect(balancers()).toBe(1));
    await world.core.deleteNamespacedService({ namespace: "default", name: "asked" });
    const map = new OwnConfigMap(world.observer, { namespace: "kube-system", clusterName: "kubernetes" }, "plan");
    const id = await eventually(async () => {
      const [step] = parsePending(await map.read()).waiting;
      if (!step) throw new Error("nothing waits for approval");
      return step.id;
    });
    await map.update((data) => withApprovals(data, [id], "lotse-admin"));
    await eventually(async () => expect([balancers(), await map.read()]).toEqual([0, {}]));
  });

  it("suffice to authenticate and authorise requests for metrics", async () => {
    const body = { spec: { audiences: [], expirationSeconds: 3_600 } };
    await world.core.createNamespacedServiceAccount({ namespace: "default", body: { metadata: { name: "reader" } } });
    const request = { namespace: "default", name: "reader", body };
    const { status } = await world.core.createNamespacedServiceAccountToken(request);
    expect((await askSecurePort(port, "/metrics", status?.token ?? "")).status).toBe(403);
    await used("create", "tokenreviews");
    await used("create", "subjectaccessreviews");
  });

  it("suffice: no request was forbidden", () => {
    const requests = requestsOf(world.cluster);
    expect(requests.length).toBeGreaterThan(20);
    expect(requests.filter(({ status }) => status === 403).map(describeRight)).toEqual([]);
  });

  it("are minimal: each verb was used on each resource and each named object", async () => {
    expect(rights.length).toBeGreaterThan(20);
    // The controller saves its state, record and status some seconds after a change.
    await eventually(() => expect(idleRights(rights, requestsOf(world.cluster)).map(describeRight)).toEqual([]));
  });

  it.each(["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"])(
    "would not be minimal with another verb: %s",
    (verb) => {
      const key = (right: Right) => describeRight({ ...right, verb });
      const has = new Set(rights.filter((right) => right.verb === verb).map(key));
      const more = rights.filter((right) => !has.has(key(right))).map((right) => ({ ...right, verb }));
      expect(more).not.toEqual([]);
      const requests = requestsOf(world.cluster);
      for (const right of more)
        expect(idleRights([...rights, right], requests).map(describeRight)).toContain(key(right));
    },
  );
});
