import type { V1Service } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { requireUndoable, undoText } from "../../../../../controller/commands/record/undo.ts";
import { planUndo } from "../../../../../controller/commands/record/undo-plan.ts";
import { type AuditEntry, recordWish } from "../../../../../controller/record/entry.ts";
import { loadBalancerUnit } from "../../../../../stacks/units/names.ts";
import { aService, UID } from "../../../../support/builders.ts";

const PREFIX = "load-balancer.hetzner.cloud/";

/** What the record has of a run for a Service as it was then. */
function ran(run: string, service: V1Service, status: "applied" | "failed" | "cut off" = "applied"): AuditEntry[] {
  const uid = service.metadata?.uid ?? "";
  const unit = loadBalancerUnit({ namespace: "default", name: "web", uid });
  const common = { at: `2026-11-16T12:00:0${run}.000Z`, run, unit };
  const intent = recordWish(service);
  const change: AuditEntry = { kind: "change", ...common, object: "Service default/web", differences: [], intent };
  return status === "cut off" ? [change] : [change, { kind: "outcome", ...common, status, operations: [] }];
}

const web = (annotations: Readonly<Record<string, string>>, ports: readonly number[] = [80], uid = UID) =>
  aService({ annotations, ports, uid });
const A = web({ type: "lb11" });
const B = web({ type: "lb21", "algorithm-type": "least_connections" });
const C = web({ type: "lb31" });

describe("the undo of a Service's last change", () => {
  it.each<[string, V1Service, readonly AuditEntry[], string | undefined]>([
    ["of a Service that the record does not know: nothing", B, [], undefined],
    ["of the only intent there was: nothing", A, ran("1", A), undefined],
    ["brings back the intent before", B, [...ran("1", A), ...ran("2", B)], "1"],
    ["passes over repairs, which have the same wish", B, [...ran("1", A), ...ran("2", B), ...ran("3", B)], "1"],
    ["undone again, brings back what it undid", A, [...ran("1", A), ...ran("2", B), ...ran("3", A)], "2"],
    ["takes back an intent that was not carried out yet", C, [...ran("1", A), ...ran("2", B)], "2"],
    ["never brings back what failed", C, [...ran("1", A), ...ran("2", B, "failed"), ...ran("3", C)], "1"],
    ["nor what nobody knows the end of", C, [...ran("1", A), ...ran("2", B, "cut off"), ...ran("3", C)], "1"],
    [
      "nor what another Service of that name asked for",
      B,
      [...ran("1", web({ type: "lb11" }, [80], "other")), ...ran("2", B)],
      undefined,
    ],
  ])("%s", (_, service, entries, run) => {
    expect(planUndo(service, entries)?.run).toBe(run);
  });

  it("patches only what differs, and only the version of the Service that was read", () => {
    const service = { ...B, metadata: { ...B.metadata, resourceVersion: "7" } };
    expect(planUndo(service, [...ran("1", A), ...ran("2", B)])).toEqual({
      service: "default/web",
      at: "2026-11-16T12:00:01.000Z",
      run: "1",
      fields: [
        { field: `${PREFIX}algorithm-type`, from: "least_connections" },
        { field: `${PREFIX}type`, from: "lb21", to: "lb11" },
      ],
      notes: [],
      patch: {
        metadata: {
          uid: UID,
          resourceVersion: "7",
          annotations: { [`${PREFIX}algorithm-type`]: null, [`${PREFIX}type`]: "lb11" },
        },
      },
    });
  });

  it("restores ports with their node ports", () => {
    const undo = planUndo(web({}, [80, 443]), [...ran("1", web({}, [80])), ...ran("2", web({}, [80, 443]))]);
    expect(undo?.patch).toMatchObject({ spec: { ports: [{ port: 80, nodePort: 30_080, protocol: "TCP" }] } });
    expect(undo?.fields).toEqual([{ field: "spec.ports 443/TCP", from: "nodePort 30443 port 443 protocol TCP" }]);
  });

  it("shows only what differs between ports, one line for each", () => {
    const at = (...ports: object[]) => ({ ...A, spec: { ...A.spec, ports } }) as V1Service;
    const dns = { port: 53, protocol: "UDP", targetPort: 53 };
    const [http, https] = [
      { port: 80, name: "http", nodePort: 30_080 },
      { port: 443, nodePort: 30_443 },
    ];
    const now = at(dns, { ...http, targetPort: 8080 }, https);
    const before = at(https, { ...http, targetPort: "http", name: "web" }, { ...dns, protocol: "TCP" });
    const undo = planUndo(now, [...ran("1", before), ...ran("2", now)]);
    expect(
      undoText({ service: "default/web", ...(undo && { undo }), isDone: false }, "")
        .split("\n")
        .slice(1, 4),
    ).toEqual([
      "    spec.ports 53/UDP: port 53 protocol UDP targetPort 53 → (not set)",
      "    spec.ports 80/TCP: name http targetPort 8080 → name web targetPort http",
      "    spec.ports 53/TCP: (not set) → port 53 protocol TCP targetPort 53",
    ]);
    expect(undo?.patch).toMatchObject({ spec: { ports: before.spec?.ports } });
  });

  it("ignores the order of a port's fields", () => {
    const written = { ...A, spec: { ...A.spec, ports: [{ protocol: "TCP", port: 80, nodePort: 30_080 }] } };
    expect(planUndo(A, ran("1", written))).toBeUndefined();
  });

  it("shows what is not restored, how to proceed, and what was done", () => {
    const moved = web({ location: "hel1" });
    const undo = planUndo(moved, [...ran("1", web({ location: "fsn1" })), ...ran("2", moved)]);
    const text = (isDone: boolean) =>
      undoText({ service: "default/web", ...(undo && { undo }), isDone }, "lotse undo default/web --yes");
    expect(text(false)).toBe(
      [
        "Service default/web: would be restored to its configuration of 2026-11-16T12:00:01.000Z (run 1):",
        `    ${PREFIX}location: hel1 → fsn1`,
        "note: a load balancer cannot be moved: its location takes effect only when it is recreated",
        "restore with: lotse undo default/web --yes",
        "",
      ].join("\n"),
    );
    expect(text(true)).toMatch(/: restored to its configuration of [\s\S]*the controller now updates the cloud/);
    expect(undoText({ service: "default/web", isDone: false }, "")).toMatch(/nothing to undo/);
  });
});

describe("a Service without a load balancer cannot be undone, and the reason is right (B14)", () => {
  const clusterIp = aService({ type: "ClusterIP" });
  it.each<[string, V1Service, readonly AuditEntry[], string | undefined]>([
    ["it has one", A, [], undefined],
    [
      "it never had one",
      clusterIp,
      [],
      "Service default/web is of type ClusterIP, and the record contains no load balancer",
    ],
    ["it had one", clusterIp, ran("1", A), "Service default/web is no longer of type LoadBalancer: a deleted load"],
    [
      "it is being deleted",
      aService({ isDeleted: true }),
      ran("1", A),
      "Service default/web is being deleted: a deleted",
    ],
  ])("%s", (_, service, entries, message) => {
    const check = () => requireUndoable(service, entries);
    if (message === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(message);
  });
});
