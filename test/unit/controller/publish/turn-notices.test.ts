import { describe, expect, it } from "vitest";
import type { Plan, PlannedUnit } from "../../../../controller/guard/plan.ts";
import { awaitingApproval, heldBack, serverNotListed } from "../../../../controller/publish/turn-notices.ts";
import type { Rendered } from "../../../../controller/render/cluster.ts";
import { loadBalancerUnit } from "../../../../stacks/units/names.ts";
import { aBalancerSpec, aBalancerState, aNode, aService, UID } from "../../../support/builders.ts";
import { NO_CERTIFICATES } from "../../../support/certificates.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });

describe("removals held back by the guard", () => {
  const kubernetes = aService({ name: "kubernetes", type: "ClusterIP" });

  it("are reported on a Service that every cluster has, with the remedy", () => {
    const [write] = heldBack("9 of 9 units would be removed", { services: [aService(), kubernetes], nodes: [aNode()] });
    expect(write).toEqual({
      kind: "event",
      event: {
        about: { kind: "Service", object: kubernetes },
        type: "Warning",
        reason: "RemovalsHeldBack",
        message: expect.stringMatching(/^Removals held back: 9 of 9 units would be removed\. If .*--guard-removals\.$/),
      },
    });
  });

  it("are reported on a Node when Services are not observed", () => {
    const [write] = heldBack("x", { services: [], nodes: [aNode({ name: "n" })] });
    expect(write).toMatchObject({ event: { about: { kind: "Node" } } });
  });

  it("cause no Event when there are none", () => {
    expect(heldBack(undefined, { services: [kubernetes], nodes: [] })).toEqual([]);
  });
});

describe("changes that wait for approval", () => {
  const services = [{ service: aService(), unit: UNIT, kind: "retire" as const, certificates: NO_CERTIFICATES }];
  const spec = aBalancerSpec({ name: "web", type: "lb21" });
  const differences = [{ field: "type", want: "lb21", have: "lb11" }];

  it.each<readonly [string, PlannedUnit, Rendered["existing"], string]>([
    ["a deletion", { kind: "remove", unit: UNIT, asked: true, differences: [] }, {}, "delete the load balancer"],
    ["a creation", { kind: "make", unit: UNIT, spec, differences }, {}, "create load balancer web of type lb21"],
    ["a change", { kind: "make", unit: UNIT, spec, differences }, { [UNIT]: aBalancerState() }, "set type to lb21"],
  ])("%s is reported on the Service it is for", (_, step, existing, what) => {
    const message = `Waiting for approval: ${what}. Approve with: lotse approve 0123456789`;
    expect(awaitingApproval([step], { services, existing, nodes: {} }, "0123456789")).toMatchObject([
      { kind: "event", event: { reason: "PlanPending", message } },
    ]);
  });

  it("are not reported for routes, which belong to no Service", () => {
    const plan: Plan = [{ kind: "remove", unit: "route/10.0.0.0/24", asked: false, differences: [] }];
    expect(awaitingApproval(plan, { services, existing: {}, nodes: {} }, "0123456789")).toEqual([]);
  });
});

it("a Node whose server is not listed gets an Event: its targets and routes stay", () => {
  expect(serverNotListed(aNode({ name: "node-1" }))).toMatchObject({
    event: { reason: "ServerNotListed", type: "Warning", message: expect.stringMatching(/node-1.*stay as they are$/) },
  });
});
