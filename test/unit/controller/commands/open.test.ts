import { expect, it } from "vitest";
import { commandConfig, planOf } from "../../../../controller/commands/open.ts";
import { GUARD_LIMITS } from "../../../../controller/guard/guard.ts";
import { aNetwork, NETWORK_ID } from "../../../support/builders.ts";

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
