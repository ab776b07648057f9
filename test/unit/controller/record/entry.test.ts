import { describe, expect, it } from "vitest";
import { planRun } from "../../../../controller/guard/plan.ts";
import {
  type AuditEntry,
  changeEntries,
  outcomeEntries,
  parseEntries,
  renderEntries,
  writeEntry,
} from "../../../../controller/record/entry.ts";
import { keepShares } from "../../../../controller/record/shares.ts";
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

function changes(
  service = aService({ annotations: { "algorithm-type": "least_connections" } }),
  given: { readonly drift?: ReadonlySet<string> } = {},
) {
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
  return changeEntries({ run: "r1", at: AT, ...given }, planRun(rendered), {
    rendered,
    nodes: [],
    servers: [],
    defaults: {},
  });
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

  it("has the reason drift for what was changed outside the cluster", () => {
    const [entry] = changes(undefined, { drift: new Set(["load-balancer/default/web@0c7e1a529d3b"]) });
    const reasons = entry?.kind === "change" ? entry.differences.map(({ reason }) => reason) : [];
    expect(new Set(reasons)).toEqual(new Set(["drift: it was changed outside the cluster"]));
  });

  it("has the Service's own settings, without other annotations", () => {
    const service = aService({ annotations: { type: "lb21" } });
    const unknown = { "load-balancer.hetzner.cloud/zz": "x".repeat(250_000) };
    const annotations = { ...service.metadata?.annotations, ...unknown, "example.com/password": "hunter2" };
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

  it.each([
    ["a large value", aService({ annotations: { "algorithm-type": "least_connections", name: "x".repeat(250_000) } })],
    [
      "many ports",
      aService({
        annotations: { "algorithm-type": "least_connections" },
        ports: Array.from({ length: 5_000 }, (_, n) => n + 1),
      }),
    ],
  ])("is a small entry for a Service with %s, which cannot be restored from it (hardening 11)", (_, service) => {
    const entries = changes(service);
    expect(entries).toHaveLength(1);
    expect(renderEntries(entries).length).toBeLessThan(20_000);
    expect(entries[0]).not.toHaveProperty("intent");
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

  /** Lines about a unit of the given size in bytes, numbered from 0. */
  const lines = (unit: string, count: number, bytes: number) =>
    Array.from({ length: count }, (_, at) => {
      const start = JSON.stringify({ at: String(at), kind: "write", unit, path: "" }).slice(0, -2);
      return `${start.padEnd(bytes - 3, "x")}"}\n`;
    }).join("");
  const about = (text: string, unit: string) =>
    parseEntries(text)
      .filter((entry) => entry.unit === unit)
      .map(({ at }) => at);
  const SHOP = "load-balancer/prod/shop@1";

  it.each([
    ["two large ones", lines("load-balancer/tenant/x@2", 2, 120_000)],
    ["thousands of small ones", lines("load-balancer/tenant/x@2", 2_000, 200)],
    [
      "those of many units",
      Array.from({ length: 900 }, (_, n) => lines(`load-balancer/tenant/x-${n}@2`, 2, 200)).join(""),
    ],
  ])("keeps the entries of others, however many a tenant causes: %s (hardening 11)", (_, flood) => {
    const kept = keepShares(lines(SHOP, 300, 300) + flood, 200_000);
    expect(about(kept, SHOP)).toHaveLength(300);
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(200_000);
  });

  it("keeps the entries of routes beside a tenant whose namespace is called route", () => {
    const flood = Array.from({ length: 900 }, (_, n) => lines(`load-balancer/route/x-${n}@2`, 1, 200)).join("");
    const kept = keepShares(lines("route/10.0.0.0/24", 10, 300) + flood, 100_000);
    expect(about(kept, "route/10.0.0.0/24")).toHaveLength(10);
  });

  it("keeps the newest entries of a unit, and those of quiet units beside a busy one", () => {
    const kept = keepShares(lines(SHOP, 2, 200) + lines("load-balancer/prod/busy@2", 50, 200), 2_000);
    expect(about(kept, SHOP)).toEqual(["0", "1"]);
    expect(about(kept, "load-balancer/prod/busy@2")).toEqual(["42", "43", "44", "45", "46", "47", "48", "49"]);
  });

  it("keeps the newest whole lines", () => {
    expect(keepShares("one\ntwo\nthree\n", 100)).toBe("one\ntwo\nthree\n");
    expect(keepShares("one\ntwo\nthree\n", 9)).toBe("three\n");
    expect(keepShares("äöü\nx\n", 4)).toBe("x\n");
  });
});
