import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { describe, expect, it } from "vitest";
import { Telemetry } from "../../../../controller/app/telemetry.ts";
import { loadConfig } from "../../../../controller/config/config.ts";
import { advance, newProgress, outcomesOf } from "../../../../stacks/engine/progress.ts";
import { partName, unitOf } from "../../../../stacks/units/names.ts";
import { aBalancerSpec } from "../../../support/builders.ts";

const UNIT = unitOf(aBalancerSpec());
const TARGET = `urn:pulumi:t::lotse::x$y::${partName(UNIT, "server-999")}`;

describe("readiness after a run in which everything failed", () => {
  it.each([
    ["is not given when the engine did not start", "no such plugin", undefined, "the engine failed to start"],
    ["is given when the plugin refused what the units ask for", "server 999: not found", TARGET, undefined],
  ])("%s", (_, message, urn, reason) => {
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
    const facts = { drifted: [], held: 0, waiting: 0, hasRoutes: false };
    telemetry.noteTurn({ ...facts, planned: 1 });
    expect(look?.()).toBe(reason);
    telemetry.noteTurn({ ...facts, planned: 0 });
    expect(look?.(), "what failed is no longer wanted").toBeUndefined();
  });
});
