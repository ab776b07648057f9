import { describe, expect, it } from "vitest";
import { awaitingApproval, heldBack, serverNotListed } from "../../../../controller/publish/turn-notices.ts";
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
  const step = (object: string) => ({ id: "0123", unit: UNIT, object, at: "", summary: "do it", text: [] });

  it.each([
    ["Service default/web", ["Service"]],
    ["Node node-1", ["Node"]],
    ["route 10.0.0.0/24", []],
  ])("of %s are reported on it", (object, expected) => {
    const writes = awaitingApproval([step(object)], { services, existing: {} }, [aNode({ name: "node-1" })]);
    const message = "Waiting for approval: do it. Approve with: lotse approve 0123";
    expect(writes).toMatchObject(
      expected.map((kind) => ({ event: { about: { kind }, reason: "PlanPending", message } })),
    );
    expect(writes).toHaveLength(expected.length);
  });
});

it("a Node whose server is not listed gets an Event: its targets and routes stay", () => {
  expect(serverNotListed(aNode({ name: "node-1" }))).toMatchObject({
    event: { reason: "ServerNotListed", type: "Warning", message: expect.stringMatching(/node-1.*stay as they are$/) },
  });
});
