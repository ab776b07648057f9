import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { describe, expect, it } from "vitest";
import { Telemetry } from "../../../../controller/app/telemetry.ts";
import { loadConfig } from "../../../../controller/config/config.ts";
import type { TurnFacts } from "../../../../controller/turns/cluster.ts";
import { advance, newProgress, outcomesOf } from "../../../../stacks/engine/progress.ts";
import { partName, unitOf } from "../../../../stacks/units/names.ts";
import { aBalancerSpec } from "../../../support/builders.ts";

const UNIT = unitOf(aBalancerSpec());
const FACTS: TurnFacts = { planned: 0, drifted: [], held: 0, waiting: 0, hasRoutes: false };
const TARGET = `urn:pulumi:t::lotse::x$y::${partName(UNIT, "server-999")}`;

describe("readiness after a run in which everything failed", () => {
  const broken = { message: "no such plugin", reason: "the engine failed to start" };
  const refused = { message: "server 999: not found", urn: TARGET };
  const waits = { planned: 1, waiting: 1 };
  it.each<[string, { message: string; urn?: string; reason?: string }, Partial<TurnFacts>]>([
    ["is not given when the engine did not start, until nothing is left to do", broken, { planned: 0 }],
    ["is not given when the engine did not start, until all that is left waits for approval", broken, waits],
    ["is given when the plugin refused what the units ask for", refused, { planned: 0 }],
  ])("%s", (_, { message, urn, reason }, left) => {
    const telemetry = new Telemetry(loadConfig({}, { HCLOUD_TOKEN: "t".repeat(64) }));
    const checks = telemetry.checks({
      observer: { staleness: () => undefined, agesMs: () => ({}) },
      leadership: { isHeld: true },
      loops: { runningMs: {} },
    });
    const progress = newProgress();
    const diagnosticEvent = { message, color: "never", severity: "error", ...(urn !== undefined && { urn }) } as const;
    const complaint: EngineEvent = { sequence: 1, timestamp: 1, diagnosticEvent };
    advance(progress, complaint);
    const outcomes = outcomesOf(progress, [UNIT], { ok: false, output: "" });
    expect(outcomes[UNIT]?.status).toBe("failed");
    telemetry.noteRun({ outcomes, durationMs: 1 });
    const look = checks.readyz?.find(({ name }) => name === "engine")?.look;
    expect(look?.()).toBe(reason);
    telemetry.noteRun({ outcomes: { [UNIT]: { status: "applied", changes: [] } }, durationMs: 1 }, true);
    expect(look?.(), "an action of an earlier run has ended").toBe(reason);
    telemetry.noteTurn({ ...FACTS, planned: 2, waiting: 1 });
    expect(look?.()).toBe(reason);
    telemetry.noteTurn({ ...FACTS, ...left });
    expect(look?.(), "what failed is no longer wanted").toBeUndefined();
  });
});
