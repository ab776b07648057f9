import type { V1Node } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import {
  COPIED_LABELS,
  type LabelOptions,
  planLabels,
  serverFacts,
  wantedLabels,
} from "../../../../../controller/render/node/labels.ts";
import { aNode, aServer } from "../../../../support/builders.ts";

const PREFIXES = { zoneLabel: false, labelPrefixes: ["example.com/", "pool"] };
const SERVER_LABELS = { "example.com/rack": "r1", pool: "blue", other: "x" };

const planFor = (node: V1Node, server: ReturnType<typeof aServer>, options: LabelOptions) =>
  planLabels(node, wantedLabels(node, serverFacts(server, options), options));

/** Changes of copied labels and of the note about them alone. */
function copies(
  labels: Readonly<Record<string, string>>,
  node: { labels?: Record<string, string>; copied?: string } = {},
  prefixes = PREFIXES,
) {
  const annotations = node.copied === undefined ? {} : { [COPIED_LABELS]: node.copied };
  const plan = planFor(aNode({ labels: node.labels ?? {}, annotations }), aServer({ labels }), prefixes);
  const own = Object.entries(plan.labels ?? {}).filter(([key]) => !/kubernetes\.io|hetzner/.test(key));
  return { labels: Object.fromEntries(own), note: plan.annotations?.[COPIED_LABELS] };
}

describe("labels of servers", () => {
  it("framework N16: are copied if they have an allowed prefix, and recorded", () => {
    expect(copies(SERVER_LABELS)).toEqual({
      labels: { "example.com/rack": "r1", pool: "blue" },
      note: "example.com/rack,pool",
    });
  });

  it("are not copied by default", () => {
    expect(copies(SERVER_LABELS, {}, { zoneLabel: false, labelPrefixes: [] })).toEqual({ labels: {}, note: undefined });
  });

  it.each(["kubernetes.io/a", "topology.kubernetes.io/zone", "k8s.io/a", "topology.k8s.io/a"])(
    "framework N17: are not copied into Kubernetes' own namespaces: %s",
    (key) => {
      const plan = planFor(aNode(), aServer({ labels: { [key]: "x" } }), { zoneLabel: true, labelPrefixes: [key] });
      expect(Object.values(plan.labels ?? {})).not.toContain("x");
      expect(plan.annotations).toBeUndefined();
    },
  );

  it.each(["app.k8snio/bar", "k8snio/bar", "kubernetes.io"])(
    "framework N19: are copied into namespaces that only look like them: %s",
    (key) => {
      const plan = planFor(aNode(), aServer({ labels: { [key]: "x" } }), { zoneLabel: false, labelPrefixes: [key] });
      expect(plan.labels).toMatchObject({ [key]: "x" });
    },
  );

  it.each(["fizz", "blue"])("framework N18: do not replace a label that was set to %s elsewhere", (value) => {
    expect(copies({ pool: "blue" }, { labels: { pool: value } })).toEqual({ labels: {}, note: undefined });
  });

  it("follow the server once copied, which the framework does not do", () => {
    const node = { labels: { pool: "blue" }, copied: "pool" };
    expect(copies({ pool: "green" }, node)).toEqual({ labels: { pool: "green" }, note: undefined });
    expect(copies({ pool: "blue" }, node)).toEqual({ labels: {}, note: undefined });
  });

  it("are removed with the server's label or the prefix", () => {
    const node = { labels: { pool: "blue", mine: "x" }, copied: "pool" };
    expect(copies({}, node)).toEqual({ labels: { pool: null }, note: null });
    expect(copies({ pool: "blue" }, node, { zoneLabel: false, labelPrefixes: [] })).toEqual({
      labels: { pool: null },
      note: null,
    });
  });
});

describe("the record of copied labels, which a kubelet may write", () => {
  // In all other namespaces, NodeRestriction lets a kubelet change the labels of its own Node anyway.
  it.each([
    "node-restriction.kubernetes.io/untrusted",
    "team.node-restriction.kubernetes.io/untrusted",
    "node-role.kubernetes.io/control-plane",
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "kubernetes.io/role",
    "k8s.io/pool",
    "kops.k8s.io/instancegroup",
  ])("removes no label of Kubernetes: %s", (key) => {
    const node = aNode({ labels: { [key]: "x", pool: "blue" }, annotations: { [COPIED_LABELS]: `${key},pool` } });
    const { labels, annotations } = planFor(node, aServer(), { zoneLabel: false, labelPrefixes: [key] });
    expect(labels).not.toHaveProperty([key]);
    expect(labels).toMatchObject({ pool: null });
    expect(annotations).toEqual({ [COPIED_LABELS]: null });
  });
});

it("framework N20, N22: corrects both names of a label, whichever is wrong", () => {
  const labels = { "topology.kubernetes.io/region": "a", "failure-domain.beta.kubernetes.io/region": "b" };
  const plan = planFor(aNode({ labels }), aServer({ location: "hel1" }), { zoneLabel: true });
  expect(plan.labels).toMatchObject({
    "topology.kubernetes.io/region": "hel1",
    "failure-domain.beta.kubernetes.io/region": "hel1",
  });
});

it("framework N28: writes no label for an unknown value", () => {
  const facts = { providedBy: "robot", instanceType: "", region: "", labels: {} } as const;
  expect(planLabels(aNode(), wantedLabels(aNode(), facts, { zoneLabel: true }))).toEqual({
    labels: { "instance.hetzner.cloud/provided-by": "robot" },
  });
});
