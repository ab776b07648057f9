import type { EngineEvent, OpType, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { describe, expect, it } from "vitest";
import { advance, type Ending, newProgress, outcomesOf } from "../../../../stacks/engine/progress.ts";
import { componentUrn, partName, routeUnit, unitOf } from "../../../../stacks/units/names.ts";
import type { UnitId } from "../../../../stacks/units/spec.ts";
import { aBalancerSpec } from "../../../support/builders.ts";

const UNIT = unitOf(aBalancerSpec());
const OTHER = routeUnit({ destination: "10.244.0.0/24" });
const FINE: Ending = { ok: true, output: "" };

const urn = (unit: UnitId, part: string) => `urn:pulumi:t::lotse::x$y::${partName(unit, part)}`;
const metadata = (op: `${OpType}`, of: string, diffs?: string[]) =>
  ({ op, urn: of, type: "t", provider: "", ...(diffs && { diffs }) }) as StepEventMetadata;
const event = (part: Omit<EngineEvent, "sequence" | "timestamp">): EngineEvent => ({
  sequence: 1,
  timestamp: 1,
  ...part,
});
const started = (op: `${OpType}`, of: string) =>
  event({ resourcePreEvent: { metadata: metadata(op, of), planning: false } });
const done = (op: `${OpType}`, of: string, diffs?: string[]) =>
  event({ resOutputsEvent: { metadata: metadata(op, of, diffs), planning: false } });
const failed = (op: `${OpType}`, of: string) =>
  event({ resOpFailedEvent: { metadata: metadata(op, of), status: 1, steps: 1 } });
const complaint = (message: string, of?: string) =>
  event({ diagnosticEvent: { message, color: "never", severity: "error", ...(of !== undefined && { urn: of }) } });

function outcomes(events: readonly EngineEvent[], ended: Ending = FINE) {
  const progress = newProgress();
  for (const one of events) advance(progress, one);
  return outcomesOf(progress, [UNIT, OTHER], ended);
}

describe("advance", () => {
  it("returns the start, end and failure of a part", () => {
    const progress = newProgress();
    const listener = urn(UNIT, "listener-80");
    const step = { unit: UNIT, part: "listener-80", operation: "create", fields: [] };
    expect(advance(progress, started("create", listener))).toEqual({ ...step, phase: "started" });
    expect(advance(progress, done("create", listener))).toEqual({ ...step, phase: "done" });
    expect(advance(progress, failed("create", listener))).toEqual({ ...step, phase: "failed" });
  });

  it("names the fields of an update", () => {
    expect(advance(newProgress(), done("update", urn(UNIT, "balancer"), ["labels"]))).toMatchObject({
      operation: "update",
      fields: ["labels"],
    });
  });

  it.each([
    ["parts that stay as they are", done("same", urn(UNIT, "balancer"))],
    ["parts that are only read", done("read", urn(UNIT, "balancer"))],
    ["the component itself", done("create", componentUrn("t", UNIT))],
    ["the stack", done("create", "urn:pulumi:t::lotse::pulumi:pulumi:Stack::lotse-t")],
    ["the steps inside a replacement", done("create-replacement", urn(UNIT, "balancer"))],
    ["events about nothing", event({})],
    [
      "warnings",
      event({ diagnosticEvent: { message: "x", color: "never", severity: "warning", urn: urn(UNIT, "a") } }),
    ],
  ])("returns no step for %s", (_, one) => {
    const progress = newProgress();
    expect(advance(progress, one)).toBeUndefined();
    expect(progress).toEqual(newProgress());
  });
});

describe("outcomesOf", () => {
  it("returns an outcome with the changes for every requested unit", () => {
    expect(outcomes([done("create", urn(UNIT, "balancer")), done("delete", urn(OTHER, "route"))])).toEqual({
      [UNIT]: { status: "applied", changes: [{ unit: UNIT, part: "balancer", operation: "create", fields: [] }] },
      [OTHER]: { status: "applied", changes: [{ unit: OTHER, part: "route", operation: "delete", fields: [] }] },
    });
    expect(outcomes([])).toEqual({
      [UNIT]: { status: "applied", changes: [] },
      [OTHER]: { status: "applied", changes: [] },
    });
  });

  it("fails only the unit with the error", () => {
    const ended = { ok: false, output: "error: update failed" };
    const found = outcomes(
      [
        done("create", urn(UNIT, "balancer")),
        complaint("1 error occurred:\n\t* port in use (source_port_already_used, 1)", urn(UNIT, "listener-80")),
        complaint("Unhandled exception: Error: resource failed to register"),
        complaint("update failed"),
      ],
      ended,
    );
    expect(found[UNIT]).toMatchObject({
      status: "failed",
      changes: [{ part: "balancer" }],
      failure: { code: "source_port_already_used", message: "port in use" },
    });
    expect(found[OTHER]).toEqual({ status: "applied", changes: [] });
  });

  it("keeps the first error of a unit, which causes the others", () => {
    const found = outcomes([
      complaint("first (conflict, 1)", urn(UNIT, "balancer")),
      complaint("second (locked, 1)", urn(UNIT, "listener-80")),
    ]);
    expect(found[UNIT]).toMatchObject({ failure: { code: "conflict" } });
  });

  it("fails all units if the engine itself failed", () => {
    const found = outcomes([complaint("<{%reset%}>no such plugin\n")], { ok: false, output: "ignored" });
    for (const unit of [UNIT, OTHER]) {
      expect(found[unit]).toMatchObject({ status: "failed", failure: { code: "engine", message: "no such plugin" } });
    }
  });

  it("falls back to the output of the command line, and to what ended it", () => {
    expect(outcomes([], { ok: false, output: "error: the stack is locked" })[UNIT]).toMatchObject({
      failure: { code: "engine", message: "the stack is locked" },
    });
    const failure = { code: "deadline", message: "too slow", retry: "soon" } as const;
    expect(outcomes([], { ok: false, output: "x", failure })[UNIT]).toMatchObject({ failure });
    const refused = complaint("port in use (source_port_already_used, 1)", urn(UNIT, "listener-80"));
    const found = outcomes([refused], { ok: false, output: "x", failure });
    expect(found[UNIT]).toMatchObject({ failure: { code: "source_port_already_used" } });
    expect(found[OTHER], "a unit that the run did not get to").toMatchObject({ status: "failed", failure });
  });
});
