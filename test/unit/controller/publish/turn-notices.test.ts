import { describe, expect, it } from "vitest";
import type { Plan } from "../../../../controller/guard/plan.ts";
import { awaitingApproval, heldBack, serverNotListed } from "../../../../controller/publish/turn-notices.ts";
import type { Rendered } from "../../../../controller/render/cluster.ts";
import { loadBalancerUnit } from "../../../../stacks/units/names.ts";
import { aNode, aService, UID } from "../../../support/builders.ts";
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
        message: expect.stringMatching(/^9 of 9 units would be removed; .*--guard-removals$/),
      },
    });
  });

  it("are reported on a Node when Services are not observed", () => {
    const [write] = heldBack("x", { services: [], nodes: [aNode({ name: "n" })] });
    expect(write).toMatchObject({ event: { about: { kind: "Node" } } });
  });

  it("are no Event when there are none", () => {
    expect(heldBack(undefined, { services: [kubernetes], nodes: [] })).toEqual([]);
  });
});

describe("changes that wait for approval", () => {
  const services = [{ service: aService(), unit: UNIT, kind: "retire" as const, certificates: NO_CERTIFICATES }];
  const rendered: Rendered = { services, existing: {}, nodes: {} };

  it.each<readonly [string, Plan, string]>([
    [
      "a deletion",
      [{ kind: "remove", unit: UNIT, asked: true, differences: [] }],
      "Waiting for approval: its load balancer would be deleted. Approve with: lotse approve 0123456789",
    ],
    ["a change", [{ kind: "remove", unit: "route/10.0.0.0/24", asked: false, differences: [] }], ""],
  ])("%s is reported on the Service it is for", (_, plan, message) => {
    const writes = awaitingApproval(plan, rendered, "0123456789");
    expect(writes.map((write) => (write.kind === "event" ? [write.event.reason, write.event.message] : []))).toEqual(
      message ? [["PlanPending", message]] : [],
    );
  });
});

it("a Node whose server is not listed is told that its targets and routes stay", () => {
  expect(serverNotListed(aNode({ name: "node-1" }))).toMatchObject({
    event: { reason: "ServerNotListed", type: "Warning", message: expect.stringMatching(/node-1.*stay as they are$/) },
  });
});
