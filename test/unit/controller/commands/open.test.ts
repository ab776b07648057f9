import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { commandConfig, open, planOf } from "../../../../controller/commands/open.ts";
import { GUARD_LIMITS } from "../../../../controller/guard/guard.ts";
import { aNetwork, NETWORK_ID } from "../../../support/builders.ts";
import { reply, startServer } from "../../../support/http-server.ts";

const ENV = { HCLOUD_TOKEN: "t".repeat(64), HCLOUD_NETWORK: String(NETWORK_ID), KUBECONFIG: "/a:/b" };
const CONFIG = commandConfig({ "cluster-cidr": "10.244.0.0/16" }, ENV);

it("a command defaults to kubectl's kubeconfig and kube-system", () => {
  const told = commandConfig({ kubeconfig: "/c", namespace: "lotse" }, ENV);
  expect([CONFIG.kubeconfig, CONFIG.namespace, told.kubeconfig, told.namespace]).toEqual([
    "/a:/b",
    "kube-system",
    "/c",
    "lotse",
  ]);
});

it.each([
  [GUARD_LIMITS.removals, false],
  [GUARD_LIMITS.removals + 1, true],
])("a plan to remove %i stale routes is held back: %s", (count, isHeldBack) => {
  const routes = Array.from({ length: count }, (_, index) => ({
    destination: `10.244.${index}.0/24`,
    gateway: "10.0.0.1",
  }));
  const cloud = { servers: [], loadBalancers: [], certificates: [], network: aNetwork({ routes }) };
  const options = { addressFamily: "ipv4", zoneLabel: true, defaults: {}, clusterCidrs: CONFIG.clusterCidrs } as const;
  const { plan, heldBack } = planOf({ services: [], nodes: [], cloud, now: 0 }, { config: CONFIG, options });
  expect([plan.length, heldBack !== undefined]).toEqual([isHeldBack ? 0 : count, isHeldBack]);
});

/** A ConfigMap with the status of a controller that manages routes to these ranges. */
const published = (clusterCidrs?: readonly string[]) => ({
  data: { status: JSON.stringify({ refused: [], clusterCidrs }) },
});
const RANGES = ["10.244.0.0/16", "fd00::/48"];
const NOTE = ["routes are not shown: pass --cluster-cidr as for the controller"];

it.each<[string, object, number, unknown, readonly string[], readonly string[], number]>([
  ["published by the controller", {}, 200, published(RANGES), RANGES, [], 1],
  ["given", { "cluster-cidr": "10.0.0.0/8" }, 200, published(RANGES), ["10.0.0.0/8"], [], 0],
  ["of a controller without routes", {}, 200, published([]), [], [], 1],
  ["not needed without routes", { "configure-cloud-routes": "false" }, 200, published(RANGES), [], [], 0],
  ["unknown before the first controller", {}, 404, {}, [], NOTE, 1],
  ["unknown to those who may not read them", {}, 403, {}, [], NOTE, 1],
  ["unknown to an older controller", {}, 200, published(), [], NOTE, 1],
])("the pod ranges of a command: %s", async (_, flags, status, body, ranges, notes, reads) => {
  const dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
  const isStatus = (path: string) => path === "/api/v1/namespaces/kube-system/configmaps/lotse-status-kubernetes";
  const server = await startServer(({ path }, response) =>
    isStatus(path) ? reply(response, body, status) : reply(response, { network: aNetwork() }),
  );
  const kubeconfig = join(dir, "kubeconfig");
  const context = { name: "here", context: { cluster: "here" } };
  const clusters = [{ name: "here", cluster: { server: server.url } }];
  await writeFile(kubeconfig, stringify({ "current-context": "here", contexts: [context], clusters }));
  const config = commandConfig({ ...flags, kubeconfig }, { ...ENV, HCLOUD_ENDPOINT: server.url });
  {
    await using session = await open(config);
    expect(session.config.clusterCidrs).toEqual(ranges);
    expect([session.options.clusterCidrs, session.notes]).toEqual([ranges, notes]);
  }
  expect(server.received.filter(({ path }) => isStatus(path))).toHaveLength(reads);
  await server.stop();
  await rm(dir, { recursive: true });
});
