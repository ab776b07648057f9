import { expect, it } from "vitest";
import { renderConditions, renderNode } from "../../../../dev-env/cluster/node-object.ts";

const now = new Date("2026-01-02T03:04:05Z");

it("has both addresses of a dual-stack node IP, and the host name last", () => {
  const node = renderNode({ name: "n1", nodeIp: "10.0.0.2,2001:db8::2" }, "v1.36.3", now);
  expect(node.metadata?.annotations).toHaveProperty(["alpha.kubernetes.io/provided-node-ip"], "10.0.0.2,2001:db8::2");
  expect(node.status?.addresses).toEqual([
    { type: "InternalIP", address: "10.0.0.2" },
    { type: "InternalIP", address: "2001:db8::2" },
    { type: "Hostname", address: "n1" },
  ]);
});

it("has the architecture wherever a kubelet sets it", () => {
  const node = renderNode({ name: "n1", architecture: "arm64" }, "v1.36.3", now);
  expect(node.metadata?.labels).toMatchObject({ "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "arm64" });
  expect(node.status?.nodeInfo?.architecture).toBe("arm64");
});

it("has a providerID only if the kubelet was given one", () => {
  expect(renderNode({ name: "n1" }, "v1.36.3", now).spec).not.toHaveProperty("providerID");
  expect(renderNode({ name: "n1", providerId: "hcloud://1" }, "v1.36.3", now).spec?.providerID).toBe("hcloud://1");
});

it("changes the transition time of readiness only", () => {
  const started = new Date("2026-01-01T00:00:00Z");
  const changed = new Date("2026-01-02T00:00:00Z");
  const transitions = renderConditions(false, { now, started, changed }).map(
    ({ type, status, lastTransitionTime }) => [type, status, lastTransitionTime] as const,
  );
  expect(transitions).toEqual([
    ["MemoryPressure", "False", started],
    ["DiskPressure", "False", started],
    ["PIDPressure", "False", started],
    ["Ready", "False", changed],
  ]);
});
