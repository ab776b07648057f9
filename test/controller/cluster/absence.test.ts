import { beforeEach, describe, expect, it } from "vitest";
import { Absence } from "../../../controller/cluster/absence.ts";
import type { Desired } from "../../../controller/cluster/desired.ts";
import { loadBalancerUnit } from "../../../stacks/names.ts";
import type { UnitOutcome } from "../../../stacks/run.ts";
import { aBalancerState, aService, UID } from "../../support/builders.ts";
import { NO_CERTIFICATES } from "../../support/certificates.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const failed = (code: string): UnitOutcome => ({
  status: "failed",
  changes: [],
  failure: { code, message: "", retry: "soon" },
});

/** One Service that goes, with or without a balancer in the list. */
const going = (isListed: boolean): Desired => ({
  services: [{ kind: "release", service: aService(), unit: UNIT, certificates: NO_CERTIFICATES }],
  present: isListed ? { [UNIT]: aBalancerState() } : {},
  nodes: {},
});

let now = 0;
let absence: Absence;
const waits = (isListed = false) => [...absence.unproven(going(isListed)).values()];

beforeEach(() => {
  now = 5_000_000;
  absence = new Absence(() => now);
});

describe("a balancer that is not listed", () => {
  it("may be on its way for thirty seconds after the start, and is gone then", () => {
    absence.observe(going(false));
    expect(waits()).toEqual([30_000]);
    now += 29_999;
    absence.observe(going(false));
    expect(waits()).toEqual([1]);
    now += 1;
    expect(waits()).toEqual([]);
  });

  it("counts from the first look, however long the controller stood by before", () => {
    now += 3_600_000;
    absence.observe(going(false));
    expect(waits()).toEqual([30_000]);
  });

  it("is gone at once when it was listed before, and a run has taken it away", () => {
    absence.observe(going(true));
    expect(waits(true)).toEqual([]);
    absence.observe(going(false));
    absence.take(UNIT);
    expect(waits()).toEqual([]);
    absence.observe(going(false));
    expect(waits()).toEqual([]);
  });

  it("is gone at once also when it lingered in the lists after the run that took it away", () => {
    absence.observe(going(true));
    absence.take(UNIT);
    absence.observe(going(true));
    absence.observe(going(false));
    expect(waits()).toEqual([]);
  });

  it("may be missing from a list for thirty seconds when nobody here took it away", () => {
    absence.observe(going(true));
    now += 3_600_000;
    absence.observe(going(false));
    expect(waits()).toEqual([30_000]);
    now += 10_000;
    absence.observe(going(false));
    expect(waits()).toEqual([20_000]);
    absence.observe(going(true));
    expect(waits(true)).toEqual([]);
    absence.observe(going(false));
    now += 30_000;
    expect(waits()).toEqual([]);
  });

  it("is not taken away any more when the Service stays after all", () => {
    absence.observe(going(true));
    absence.take(UNIT);
    const staying = { ...going(true), services: [{ kind: "refused", service: aService(), unit: UNIT, mistakes: [] }] };
    absence.observe(staying as Desired);
    absence.observe(going(false));
    expect(waits()).toEqual([30_000]);
  });

  it.each(["unavailable", "timeout", "bad_gateway"])(
    "may be on its way after an answer that did not come: %s",
    (code) => {
      absence.observe(going(false));
      now += 60_000;
      absence.learn(UNIT, failed(code));
      now += 10_000;
      expect(waits()).toEqual([20_000]);
      absence.observe(going(true));
      expect(waits(true)).toEqual([]);
    },
  );

  it.each<[string, UnitOutcome | undefined]>([
    ["a refusal", failed("resource_limit_exceeded")],
    ["a success", { status: "applied", changes: [] }],
    ["a run that said nothing of it", undefined],
  ])("is not on its way after %s", (_, outcome) => {
    absence.observe(going(false));
    now += 60_000;
    absence.learn(UNIT, outcome);
    expect(waits()).toEqual([]);
  });

  it("is forgotten with its Service", () => {
    absence.observe(going(true));
    absence.observe({ services: [], present: {}, nodes: {} });
    expect(waits()).toEqual([30_000]);
  });

  it("is nobody's concern while the Service stays", () => {
    const service = aService();
    const staying: Desired = {
      services: [{ kind: "refused", service, unit: UNIT, mistakes: [] }],
      present: {},
      nodes: {},
    };
    absence.observe(staying);
    expect([...absence.unproven(staying)]).toEqual([]);
  });
});
