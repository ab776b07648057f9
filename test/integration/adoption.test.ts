import { readFileSync } from "node:fs";
import { CoreV1Api, RbacAuthorizationV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { runCommand } from "../support/command.ts";
import { commandsOf, isExpected } from "../support/console.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { sectionOf } from "../support/readme.ts";
import { startWorld, type World } from "../support/world.ts";

const SLOW = { timeoutMs: 60_000, intervalMs: 200 };
const OWNER = "hcloud-ccm/service-uid";
const GONE = "0c7e1a52-9d3b-4f60-8a71-5b2e6f4d9c18";
const PAGE = readFileSync("docs/how-to/migration.md", "utf8");
const READER = "system:serviceaccount:default:reader";

describe("load balancers that an operator hands over", { timeout: 120_000 }, () => {
  let world: World;
  let controller: ControllerProcess;
  const lotse = (...args: readonly string[]) => runCommand(world, args);
  const balancer = (name: string) => world.cloud.state.loadBalancers.find(name);
  const service = (name: string) => world.core.readNamespacedService({ namespace: "default", name });
  const hasAddress = async (name: string) =>
    expect((await service(name)).status?.loadBalancer?.ingress ?? []).not.toEqual([]);
  const isRefused = (name: string, words: string) =>
    eventually(async () => {
      const refusal = expect.stringContaining(words);
      expect(await world.eventsAbout(name)).toContainEqual(refusal);
    }, SLOW);
  const make = (name: string, more: object = {}) =>
    world.changeCloud("POST", "/load_balancers", { name, load_balancer_type: "lb11", location: "fsn1", ...more });

  beforeAll(async () => {
    world = await startWorld({ nodes: 2 });
    const old = world.cloud.addServer({ name: "old-node" }).id;
    await make("shop", {
      labels: { [OWNER]: GONE, team: "web" },
      services: [{ protocol: "tcp", listen_port: 80, destination_port: 31_999, proxyprotocol: false }],
      targets: [{ type: "server", server: { id: old } }],
    });
    await make("edge");
    await world.createService("web", { name: "shop" });
    controller = world.startController();
  }, 120_000);
  afterAll(() => world[Symbol.asyncDispose]());

  it("stay refused when their owner is not in this cluster, as after it was rebuilt, and the Event has the remedy", async () => {
    const { id } = balancer("shop") ?? {};
    await isRefused(
      "web",
      `is not in this cluster: hand it over with \`lotse adopt default/web --load-balancer ${id}\``,
    );
    expect(balancer("shop")?.labels).toEqual({ [OWNER]: GONE, team: "web" });
  });

  it("are previewed as docs/how-to/migration.md says: which cluster may lose it, what changes, and how to proceed", async () => {
    const before = structuredClone(balancer("shop"));
    const [documented] = commandsOf(sectionOf(PAGE, "Load balancers that existed before their Services"));
    const { code, stdout } = await lotse(...(documented?.text ?? "").split(" ").slice(1));
    const output = documented?.output.map((line) => line.replace("1000005", String(before?.id))) ?? [];
    expect(isExpected(output, stdout), stdout).toBe(true);
    expect(stdout).toMatch(/destination port: 31999 → \d+/);
    expect([code, balancer("shop")]).toEqual([2, before]);
  });

  it("are handed over only by those who may write to the controller's namespace", async () => {
    const rbac = connect(world.cluster.kubeconfig, RbacAuthorizationV1Api);
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" };
    await rbac.createClusterRole({
      body: {
        metadata: { name: "reader" },
        rules: [{ apiGroups: [""], resources: ["nodes", "services", "configmaps"], verbs: ["get", "list"] }],
      },
    });
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: READER }];
    await rbac.createClusterRoleBinding({ body: { metadata: { name: "reader" }, roleRef, subjects } });
    const KUBECONFIG = await world.cluster.kubeconfigFor({ name: READER });
    // The API server grants rights a moment later. Until then the command would fail because it may not read.
    await eventually(() => connect(KUBECONFIG, CoreV1Api).listServiceForAllNamespaces());
    const args = ["adopt", "default/web", "--load-balancer", "shop", "--yes"];
    expect(await runCommand(world, args, { KUBECONFIG })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("forbidden"),
    });
    expect(balancer("shop")?.labels).toEqual({ [OWNER]: GONE, team: "web" });
  });

  it("serve the Service under their address once handed over, which is on record", async () => {
    const before = balancer("shop");
    const given = await lotse("adopt", "default/web", "--load-balancer", String(before?.id), "--yes");
    expect(given).toMatchObject({ code: 0, stdout: expect.stringContaining("was handed over to Service default/web") });
    await eventually(() => hasAddress("web"), SLOW);
    const { metadata, spec } = await service("web");
    expect(balancer("shop")).toMatchObject({
      id: before?.id,
      public_net: before?.public_net,
      services: [{ listen_port: 80, destination_port: spec?.ports?.[0]?.nodePort }],
    });
    expect(balancer("shop")?.labels).toEqual({ [OWNER]: metadata?.uid, team: "web", "lotse/adopted": "true" });
    await eventually(() => expect(balancer("shop")?.targets).toHaveLength(2), SLOW);
    expect((await lotse("audit", "default/web", "--verbose")).stdout).toMatch(
      /label lotse\/adopt-uid: .* {3}\(lotse adopt, by \S+\)/,
    );
    expect(await lotse("adopt", "default/web", "--load-balancer", "shop")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("nothing to hand over"),
    });
  });

  it.each([
    [["default/web"], "name both"],
    [["--load-balancer", "edge"], "name both"],
    [["default/none", "--load-balancer", "edge"], "Service default/none does not exist"],
    [["default/web", "--load-balancer", "nope"], 'no load balancer with the id or name "nope"'],
    [["default/web", "--load-balancer", "edge"], 'Service default/web already has load balancer "shop"'],
    [["default/kubernetes", "--load-balancer", "edge"], "not of type LoadBalancer"],
  ])("are not handed over by mistake: lotse adopt %j", async (args, words) => {
    expect(await lotse("adopt", ...args, "--yes")).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
  });

  it("are adopted only with labels that name the Service where LOTSE_ADOPTION is labelled", async () => {
    await controller.stop();
    controller = world.startController([], { LOTSE_ADOPTION: "labelled" });
    await world.createService("edge", { name: "edge" }, [81]);
    const { id } = balancer("edge") ?? {};
    await isRefused("edge", `"edge" (id ${id}) has no label that lets this Service adopt it`);
    expect(balancer("edge")).toMatchObject({ labels: {}, services: [] });
    const labels = { "lotse/adopt-namespace": "default", "lotse/adopt-name": "edge" };
    await world.changeCloud("PUT", `/load_balancers/${id}`, { labels });
    await eventually(() => hasAddress("edge"), SLOW);
    expect(balancer("edge")).toMatchObject({ id, services: [{ listen_port: 81 }] });
    // Deleted and created again: what was left behind names the Service.
    await world.core.deleteNamespacedService({ namespace: "default", name: "edge" });
    await eventually(() => expect(balancer("edge")?.labels).toHaveProperty("lotse/released-name", "edge"), SLOW);
    await eventually(async () => {
      const { items } = await world.core.listNamespacedService({ namespace: "default" });
      expect(items.map(({ metadata }) => metadata?.name)).not.toContain("edge");
    }, SLOW);
    await world.createService("edge", { name: "edge" }, [82]);
    await eventually(() => hasAddress("edge"), SLOW);
    expect(balancer("edge")).toMatchObject({ id, services: [{ listen_port: 82 }] });
  });
});
