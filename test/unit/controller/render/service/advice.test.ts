import type { V1ServiceSpec } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { renderLoadBalancer } from "../../../../../controller/render/service/load-balancer.ts";
import { aBalancerState, aNode, aServer, aService } from "../../../../support/builders.ts";
import { aCatalogue } from "../../../../support/catalogue.ts";
import { NO_LISTS } from "../../../../support/certificates.ts";

const CONTEXT = {
  nodes: [],
  servers: [],
  certificates: NO_LISTS,
  defaults: { location: "fsn1" },
  catalogue: aCatalogue(),
};
const notes = (spec: Partial<V1ServiceSpec>, annotations: Record<string, string> = {}, more = {}) => {
  const service = aService({ annotations });
  const rendered = renderLoadBalancer({ ...service, spec: { ...service.spec, ...spec } }, { ...CONTEXT, ...more });
  expect(rendered.ok).toBe(true);
  return rendered.notes.map(({ reason, message }) => `${reason}: ${message}`);
};

describe("what Hetzner cannot do is reported, and the rest is served", () => {
  it.each([
    [
      "source ranges",
      { loadBalancerSourceRanges: ["10.0.0.0/8"] },
      "UnsupportedFieldConfigured: loadBalancerSourceRanges",
    ],
    ["session affinity", { sessionAffinity: "ClientIP" }, "UnsupportedFieldConfigured: sessionAffinity"],
    ["an address", { loadBalancerIP: "1.2.3.4" }, "UnsupportedFieldConfigured: loadBalancerIP"],
    [
      "HCCM V1, framework S02: SCTP",
      {
        ports: [
          { port: 9, protocol: "SCTP" },
          { port: 80, nodePort: 30_080 },
        ],
      },
      "UnsupportedProtocolConfigured: port 9/SCTP",
    ],
  ])("%s", (_, spec, expected) => {
    expect(notes(spec)).toEqual([expect.stringContaining(expected)]);
  });

  it("in a single Event", () => {
    expect(notes({ loadBalancerSourceRanges: ["10.0.0.0/8"], sessionAffinity: "ClientIP" })).toHaveLength(1);
  });

  it.each([
    ["framework S57: ranges that let everybody in", { loadBalancerSourceRanges: ["0.0.0.0/0", " ::/0"] }],
    ["no affinity", { sessionAffinity: "None", loadBalancerIP: "" }],
  ])("nothing about %s", (_, spec) => {
    expect(notes(spec)).toEqual([]);
  });

  it("framework S57: ranges by annotation too", () => {
    const service = aService();
    const annotations = { "service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8" };
    const rendered = renderLoadBalancer({ ...service, metadata: { ...service.metadata, annotations } }, CONTEXT);
    expect(rendered.notes).toMatchObject([{ reason: "UnsupportedFieldConfigured" }]);
  });
});

describe("what is worth knowing", () => {
  it("health checks that annotations direct away from kube-proxy", () => {
    const policy = { externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 };
    expect(notes(policy)).toEqual([]);
    expect(notes(policy, { "health-check-interval": "5s" })).toEqual([]);
    expect(notes(policy, { "health-check-http-path": "/up" })).toEqual([
      expect.stringMatching(/^HealthCheckOverridden: .*annotation load-balancer.hetzner.cloud\/health-check-http-path/),
    ]);
  });

  it("HCCM A4: a deprecated type, which is used nevertheless", () => {
    expect(notes({}, { type: "lb1" })).toEqual([expect.stringMatching(/^LoadBalancerTypeDeprecated: type lb1 .*2027/)]);
  });

  it("unlike HCCM A2: an existing load balancer that should be elsewhere, but stays", () => {
    const existing = aBalancerState({ location: "nbg1" });
    expect(notes({}, { location: "hel1" }, { existing })).toEqual([
      expect.stringMatching(/^LoadBalancerNotMoved: the load balancer stays in nbg1.*hel1/),
    ]);
    expect(notes({}, { location: "nbg1" }, { existing })).toEqual([]);
    expect(notes({}, {}, { existing })).toEqual([]);
    expect(notes({}, { location: "", "network-zone": "us-east" }, { existing })).toHaveLength(1);
  });

  it("HCCM T4: nodes beyond the limit of the type, while the others are served", () => {
    const ids = Array.from({ length: 30 }, (_, index) => index + 1);
    const many = { nodes: ids.map((id) => aNode({ id })), servers: ids.map((id) => aServer({ id })) };
    expect(notes({}, { type: "lb11" }, many)).toEqual([
      expect.stringMatching(/^MaxTargetsReached: .* 5 of the nodes: node-26/),
    ]);
    expect(notes({}, { type: "lb21" }, many)).toEqual([]);
  });

  it("HCCM T3: foreign targets count towards the limit", () => {
    const ids = Array.from({ length: 25 }, (_, index) => index + 1);
    const many = { nodes: ids.map((id) => aNode({ id })), servers: ids.map((id) => aServer({ id })) };
    const foreign = new Set(["server-99"]);
    const listed = aBalancerState({ targets: [{ kind: "server", serverId: 99, usePrivateIp: false }] });
    const around = { ...many, existing: aBalancerState(), listed, foreign, otherTargets: 1 };
    const found = notes({}, { type: "lb11" }, around);
    expect(found).toEqual([
      expect.stringMatching(/^MaxTargetsReached: .* 2 of the nodes: node-24, node-25/),
      expect.stringMatching(/^ForeignPartsKept: server-99/),
    ]);
  });
});
