import { beforeEach, describe, expect, it } from "vitest";
import { Absence } from "../../../../controller/apply/proof.ts";
import { CloudError } from "../../../../controller/diagnostics/errors.ts";
import { type PlannedUnit, removal } from "../../../../controller/guard/plan.ts";
import type { Rendered } from "../../../../controller/render/cluster.ts";
import type { UnitOutcome } from "../../../../stacks/engine/run.ts";
import { loadBalancerUnit, SERVICE_UID_LABEL, unitOf } from "../../../../stacks/units/names.ts";
import type { UnitId } from "../../../../stacks/units/spec.ts";
import { aBalancerSpec, aBalancerState, aService, UID } from "../../../support/builders.ts";
import { aCertificateState, NO_CERTIFICATES } from "../../../support/certificates.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const MAKE: PlannedUnit = { kind: "make", unit: UNIT, spec: aBalancerSpec(), differences: [] };
const REMOVE = removal(UNIT, true);
const failed = (code: string): UnitOutcome => ({
  status: "failed",
  changes: [],
  failure: { code, message: "", retry: "soon" },
});
const deleted = (part: string): UnitOutcome => ({
  status: "applied",
  changes: [{ unit: UNIT, part, operation: "delete", fields: [] }],
});

/** One retired Service, with or without a load balancer in the list. */
const going = (isListed: boolean): Rendered => ({
  services: [{ kind: "retire", service: aService(), unit: UNIT, certificates: NO_CERTIFICATES }],
  existing: isListed ? { [UNIT]: aBalancerState() } : {},
});

let now = 0;
/** What a direct read finds: the labels. */
let there: Readonly<Record<string, Readonly<Record<string, string>> | Error>>;
let reads: string[];
let absence: Absence;
const waits = async (isListed = false) => (await absence.unproven(going(isListed))).map(({ waitMs }) => waitMs);
const left = async (rendered = going(false)) => (await absence.unproven(rendered)).flatMap((doubt) => doubt.left);

const OWNED = { [SERVICE_UID_LABEL]: UID };

beforeEach(() => {
  now = 5_000_000;
  there = {};
  reads = [];
  const labels = async (kind: string, id: number) => {
    reads.push(`${kind} ${id}`);
    const found = there[`${kind} ${id}`];
    if (found instanceof Error) throw found;
    return found;
  };
  absence = new Absence({ labels }, () => now);
});

describe("a load balancer that is not listed", () => {
  it("may still be in creation for thirty seconds after the start, and is gone then", async () => {
    absence.observe(going(false));
    expect(await waits()).toEqual([30_000]);
    now += 29_999;
    absence.observe(going(false));
    expect(await waits()).toEqual([1]);
    now += 1;
    expect(await waits()).toEqual([]);
    expect(reads).toEqual([]);
  });

  it("is not made again, nor are others that its list lacks: none of them is read then", async () => {
    const [specs, state] = [[1, 2].map((n) => aBalancerSpec({ name: `lb-${n}` })), aBalancerState()];
    const units = specs.map((_, n) => loadBalancerUnit({ namespace: "default", name: `web-${n}`, uid: UID }));
    const services = units.map((unit) => ({ kind: "refused", mistakes: [], service: aService(), unit }) as const);
    const existing = Object.fromEntries(units.map((unit, n) => [unit, { ...state, id: 70 + n }]));
    absence.observe({ services, existing });
    const plan = units.map((unit, n) => ({ ...MAKE, unit, spec: specs[n] ?? aBalancerSpec() }));
    const lists = { rendered: { services, existing: {} }, plan };
    there = { "load_balancer 70": OWNED };
    expect([...(await absence.unlisted(lists)).keys()]).toEqual(units);
    expect(reads).toEqual(["load_balancer 70"]);
    there = {};
    expect([...(await absence.unlisted(lists)).keys()]).toEqual([]);
    expect(reads).toEqual(["load_balancer 70", "load_balancer 70", "load_balancer 71"]);
  });

  it("counts from the first turn, however long the replica was on standby", async () => {
    now += 3_600_000;
    absence.observe(going(false));
    expect(await waits()).toEqual([30_000]);
  });

  it("is gone at once, without a read, when it was listed before and a run has deleted it", async () => {
    absence.observe(going(true));
    expect(await waits(true)).toEqual([]);
    absence.observe(going(false));
    absence.learn(REMOVE, deleted("balancer"));
    expect(await waits()).toEqual([]);
    absence.observe(going(false));
    expect(await waits()).toEqual([]);
    expect(reads).toEqual([]);
  });

  it("is gone at once also when it stayed in the lists after the run that deleted it", async () => {
    absence.observe(going(true));
    absence.learn(REMOVE, deleted("balancer"));
    absence.observe(going(true));
    absence.observe(going(false));
    expect(await waits()).toEqual([]);
  });

  it("is not gone while a direct read finds it, however long ago it vanished from the list", async () => {
    absence.observe(going(true));
    now += 3_600_000;
    there = { "load_balancer 42": OWNED };
    absence.observe(going(false));
    expect(await waits()).toEqual([30_000]);
    now += 60_000;
    absence.observe(going(false));
    expect(await left()).toEqual(["load balancer balancer (id 42) still exists, but the API does not list it"]);
    absence.observe(going(true));
    expect(await waits(true)).toEqual([]);
    absence.observe(going(false));
    there = {};
    expect(await waits()).toEqual([]);
  });

  it.each<[string, Readonly<Record<string, string>> | undefined]>([
    ["there is none", undefined],
    ["it has no owner", {}],
    ["it is another Service's", { [SERVICE_UID_LABEL]: "another" }],
  ])("is gone at once, for good, when a direct read says that %s", async (_, labels) => {
    absence.observe(going(true));
    absence.observe(going(false));
    there = labels ? { "load_balancer 42": labels } : {};
    expect(await waits()).toEqual([]);
    expect(await waits()).toEqual([]);
    expect(reads).toEqual(["load_balancer 42"]);
  });

  it("is not gone when it cannot be read", async () => {
    absence.observe(going(true));
    absence.observe(going(false));
    there = { "load_balancer 42": new CloudError("GET /load_balancers/42", 503, "unavailable", "try later") };
    expect(await left()).toEqual([
      "load balancer balancer (id 42) cannot be read: GET /load_balancers/42: try later (unavailable)",
    ]);
  });

  it.each<[string, UnitOutcome]>([
    ["failed", failed("conflict")],
    ["did nothing to it", { status: "applied", changes: [] }],
    ["took only a listener away", deleted("listener-80")],
  ])("is read directly after a removal that %s", async (_, outcome) => {
    absence.observe(going(true));
    absence.learn(REMOVE, outcome);
    absence.observe(going(false));
    there = { "load_balancer 42": OWNED };
    expect(await waits()).toEqual([30_000]);
  });

  it("no longer counts as deleted when the Service stays after all", async () => {
    absence.observe(going(true));
    absence.learn(REMOVE, deleted("balancer"));
    const staying = { ...going(true), services: [{ kind: "refused", service: aService(), unit: UNIT, mistakes: [] }] };
    absence.observe(staying as Rendered);
    absence.observe(going(false));
    there = { "load_balancer 42": OWNED };
    expect(await waits()).toEqual([30_000]);
  });

  it.each(["unavailable", "timeout", "bad_gateway", "uniqueness_error"])(
    "may still be in creation after a request without a response, or its repetition: %s",
    async (code) => {
      absence.observe(going(false));
      now += 60_000;
      absence.learn(MAKE, failed(code));
      now += 10_000;
      expect(await waits()).toEqual([20_000]);
      absence.observe(going(true));
      expect(await waits(true)).toEqual([]);
    },
  );

  it.each<[string, UnitOutcome["status"]]>([
    ["succeeded", "applied"],
    ["failed half-way", "failed"],
  ])("may be missing in the list after its creation, even if that %s", async (_, status) => {
    const create = { unit: UNIT, part: "balancer", operation: "create", fields: [] } as const;
    const outcome = { ...failed("source_port_already_used"), status, changes: [create] } as UnitOutcome;
    absence.observe(going(false));
    now += 60_000;
    absence.learn(MAKE, outcome);
    expect(await waits()).toEqual([30_000]);
    absence.observe(going(true));
    absence.learn(MAKE, outcome);
    absence.learn(REMOVE, deleted("balancer"));
    absence.observe(going(false));
    expect(await waits(), "it was listed, and deleted").toEqual([]);
  });

  it("is awaited and read directly when its re-creation got no response", async () => {
    absence.observe(going(true));
    absence.observe(going(false));
    absence.learn(MAKE, failed("timeout"));
    there = { "load_balancer 42": OWNED };
    expect(await left()).toEqual([]);
    expect(await waits()).toEqual([30_000]);
    now += 30_000;
    expect(await left()).toHaveLength(1);
  });

  it.each<[string, UnitOutcome]>([
    ["a refusal", failed("resource_limit_exceeded")],
    ["a success", { status: "applied", changes: [] }],
  ])("is not in creation after %s", async (_, outcome) => {
    absence.observe(going(false));
    now += 60_000;
    absence.learn(MAKE, outcome);
    expect(await waits()).toEqual([]);
  });

  it("is forgotten with its Service", async () => {
    absence.observe(going(true));
    absence.observe({ services: [], existing: {} });
    expect(await waits()).toEqual([30_000]);
  });

  it("is not checked while the Service stays", async () => {
    const service = aService();
    const staying: Rendered = {
      services: [{ kind: "refused", service, unit: UNIT, mistakes: [] }],
      existing: {},
    };
    absence.observe(staying);
    expect(await absence.unproven(staying)).toEqual([]);
  });
});

describe("a certificate that is not listed", () => {
  const state = aCertificateState();
  const unit = unitOf(state);
  const withCertificate = (as: UnitId = unit): Rendered => ({
    ...going(true),
    existing: { [UNIT]: aBalancerState(), [as]: state },
  });

  it("keeps the finalizer like a load balancer while a direct read finds it", async () => {
    absence.observe(withCertificate());
    absence.observe(going(true));
    there = { "certificate 77": OWNED };
    const found = `certificate ${state.name} (id 77) still exists, but the API does not list it`;
    expect(await left(going(true))).toEqual([found]);
    there = {};
    expect(await left(going(true))).toEqual([]);
  });

  it("is gone when a run has deleted it", async () => {
    absence.observe(withCertificate());
    absence.learn(removal(unit, true), deleted("certificate"));
    expect(await left(going(true))).toEqual([]);
    expect(reads).toEqual([]);
  });

  it("exists when it is listed under another unit: of two with the same content, one stands for both", async () => {
    absence.observe(withCertificate(`${unit}-77`));
    absence.observe(withCertificate());
    expect(await left(withCertificate())).toEqual([]);
    expect(reads).toEqual([]);
  });
});
