import { describe, expect, it } from "vitest";
import { planRun } from "../../../../controller/guard/plan.ts";
import {
  type AuditEntry,
  changeEntries,
  keepNewest,
  outcomeEntries,
  parseEntries,
  renderEntries,
  writeEntry,
} from "../../../../controller/record/entry.ts";
import { renderCluster } from "../../../../controller/render/cluster.ts";
import { aBalancer, aService, UID } from "../../../support/builders.ts";

const AT = new Date("2026-11-16T12:00:00Z");
const EXCHANGE = {
  run: "r1",
  unit: "route/10.0.0.0/24",
  method: "POST",
  path: "/networks/7/actions/add_route",
  endpoint: "/networks/-/actions/add_route",
  status: 201,
  durationMs: 12,
};

function changes(service = aService({ annotations: { "algorithm-type": "least_connections" } })) {
  const balancer = aBalancer({ labels: { "hcloud-ccm/service-uid": UID }, name: "a0c7e1a529d3b4f608a715b2e6f4d9c1" });
  const cloud = { servers: [], loadBalancers: [balancer], certificates: [] };
  const options = {
    addressFamily: "ipv4",
    zoneLabel: true,
    labelPrefixes: [],
    clusterCidrs: [],
    defaults: {},
  } as const;
  const rendered = renderCluster({ now: 0, services: [service], nodes: [], cloud }, options);
  return changeEntries("r1", planRun(rendered), { rendered, nodes: [], servers: [], defaults: {} }, AT);
}

describe("the record of a change", () => {
  it("has time, run, object, old and new values, and reasons", () => {
    const [entry] = changes();
    expect(entry).toMatchObject({
      kind: "change",
      at: "2026-11-16T12:00:00.000Z",
      run: "r1",
      unit: "load-balancer/default/web@0c7e1a529d3b",
      object: "Service default/web",
    });
    expect(entry?.kind === "change" && entry.differences).toContainEqual({
      field: "algorithm",
      from: "round_robin",
      to: "least_connections",
      reason: "Service default/web, annotation load-balancer.hetzner.cloud/algorithm-type",
    });
  });

  it("has the Service's own settings, without other annotations", () => {
    const service = aService({ annotations: { type: "lb21" } });
    const annotations = { ...service.metadata?.annotations, "example.com/password": "hunter2" };
    const [entry] = changes({ ...service, metadata: { ...service.metadata, annotations } });
    expect(entry?.kind === "change" && entry.intent).toEqual({
      annotations: { "load-balancer.hetzner.cloud/type": "lb21" },
      ports: [{ port: 80, nodePort: 30_080, protocol: "TCP" }],
    });
  });

  it("is bounded", () => {
    const ports = Array.from({ length: 100 }, (_, index) => index + 1);
    const [entry] = changes(aService({ ports }));
    expect(entry?.kind === "change" && entry.differences.length).toBe(40);
  });
});

describe("the record of a request", () => {
  it("is empty for reads", () => {
    expect(writeEntry({ ...EXCHANGE, method: "GET" }, AT)).toBeUndefined();
  });

  it("has path and status, but no body", () => {
    expect(writeEntry(EXCHANGE, AT)).toEqual({
      kind: "write",
      at: "2026-11-16T12:00:00.000Z",
      run: "r1",
      unit: "route/10.0.0.0/24",
      method: "POST",
      path: "/networks/7/actions/add_route",
      status: 201,
      durationMs: 12,
    });
  });
});

it("records the outcome of a run per unit", () => {
  const failure = { code: "conflict", message: "busy", retry: "soon" as const };
  const change = { unit: "route/a", part: "route", operation: "create", fields: [] } as const;
  const outcomes = { "route/a": { status: "failed", changes: [change], failure } as const };
  expect(outcomeEntries("r1", outcomes, AT)).toMatchObject([
    { kind: "outcome", unit: "route/a", status: "failed", operations: ["create route"], failure: "busy" },
  ]);
});

describe("the stored record", () => {
  const entry = writeEntry(EXCHANGE, AT) as AuditEntry;

  it("is read back as it was written, without a truncated line", () => {
    expect(parseEntries(`${renderEntries([entry, entry])}{"kind":"wri`)).toEqual([entry, entry]);
    expect(parseEntries('not json\n{}\nnull\n"x"\n')).toEqual([]);
  });

  it("keeps the newest whole lines", () => {
    expect(keepNewest("one\ntwo\nthree\n", 100)).toBe("one\ntwo\nthree\n");
    expect(keepNewest("one\ntwo\nthree\n", 9)).toBe("three\n");
    expect(keepNewest("äöü\nx\n", 4)).toBe("x\n");
  });
});
