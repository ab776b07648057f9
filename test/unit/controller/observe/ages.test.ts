import { describe, expect, it } from "vitest";
import { firstLook, freshLook, lookFor } from "../../../../controller/observe/ages.ts";
import { aNode } from "../../../support/builders.ts";

const FIRST = firstLook(60_000);
const podCIDRs = ["10.244.1.0/24"];
const condition = (status: string, reason = "RouteCreated") => [{ type: "NetworkUnavailable", status, reason }];

describe("a first look", () => {
  it.each([
    ["that has just joined", aNode({ podCIDRs }), 0],
    ["whose route could not be made", { ...aNode({ podCIDRs }), status: { conditions: condition("True") } }, 0],
    ["that has its route", { ...aNode({ podCIDRs }), status: { conditions: condition("False") } }, FIRST.network],
    [
      "that another takes care of",
      { ...aNode({ podCIDRs }), status: { conditions: condition("False", "CNI") } },
      30_000,
    ],
    ["without a pod range", aNode(), FIRST.network],
  ])("with a node %s lets the network be so old", (_, node, network) => {
    expect(lookFor([node], FIRST)).toEqual({ ...FIRST, network });
  });
});

it("a fresh look takes the network that a first look has just asked for", () => {
  const { network } = freshLook(FIRST, { servers: true, certificates: false, network: true });
  expect(network).toBe(1_000);
});
