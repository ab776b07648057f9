import { describe, expect, it } from "vitest";
import { ImplausibleCloud, requirePlausible } from "../../../../controller/observe/observe.ts";
import { aNode, aServer } from "../../../support/builders.ts";

const nodes = (count: number, ready: "True" | "Unknown" = "True") =>
  Array.from({ length: count }, (_, index) => aNode({ id: index + 1, ready }));
const servers = (count: number) => Array.from({ length: count }, (_, index) => aServer({ id: index + 1 }));

describe("a list of servers", () => {
  it.each([
    ["all of them", 6, 6, true],
    ["all but one, which may just be gone", 5, 6, true],
    ["all but a third", 4, 6, true],
    ["less than two thirds", 3, 6, false],
    ["one of two, which may just be gone", 1, 2, true],
    ["one of three", 1, 3, false],
    ["none at all", 0, 1, false],
    ["none, and there are no nodes", 0, 0, true],
  ])("with %s (%d for %d Ready Nodes) is plausible: %s", (_, listed, count, isBelieved) => {
    const look = () => requirePlausible({ servers: servers(listed) }, nodes(count));
    if (isBelieved) expect(look).not.toThrow();
    else expect(look).toThrow(ImplausibleCloud);
  });

  it("is plausible when the Nodes it lacks are not Ready either", () => {
    expect(() =>
      requirePlausible({ servers: servers(1) }, [...nodes(1), ...nodes(6, "Unknown").slice(1)]),
    ).not.toThrow();
  });

  it("may lack dedicated servers and other providers' Nodes", () => {
    const foreign = ["hrobot://1", "hcloud://bm-2", "aws:///x"].map((providerID) =>
      aNode({ providerID, ready: "True" }),
    );
    expect(() => requirePlausible({ servers: servers(1) }, [...nodes(1), ...foreign])).not.toThrow();
  });

  it("that is not plausible causes an error with the Nodes that contradict it", () => {
    try {
      requirePlausible({ servers: servers(1) }, nodes(3));
      expect.unreachable();
    } catch (error) {
      expect((error as ImplausibleCloud).nodes.map(({ metadata }) => metadata?.name)).toEqual(["node-2", "node-3"]);
    }
  });
});
