import { describe, expect, it } from "vitest";
import { findBalancer } from "../../../controller/service/find.ts";
import { aBalancer, UID } from "../../support/builders.ts";

const OWN = { "hcloud-ccm/service-uid": UID };
const OTHERS = { "hcloud-ccm/service-uid": "another" };

describe("findBalancer (HCCM S10, S11)", () => {
  it.each([
    ["the labelled one", [aBalancer({ id: 1, labels: OWN })], "own", 1],
    ["the labelled one under another name", [aBalancer({ id: 1, name: "old", labels: OWN })], "own", 1],
    [
      "the labelled one before the named one",
      [aBalancer({ id: 1, name: "wanted" }), aBalancer({ id: 2, labels: OWN })],
      "own",
      2,
    ],
    ["a named one without an owner", [aBalancer({ id: 1, name: "wanted" })], "adoptable", 1],
  ])("finds %s", (_, balancers, kind, id) => {
    expect(findBalancer(balancers, UID, "wanted")).toMatchObject({ kind, balancer: { id } });
  });

  it("finds none among others", () => {
    expect(findBalancer([aBalancer({ name: "x" })], UID, "wanted")).toEqual({ kind: "none" });
    expect(findBalancer([], UID, "wanted")).toEqual({ kind: "none" });
  });

  it("does not choose between two that carry the label", () => {
    const balancers = [aBalancer({ id: 1, labels: OWN }), aBalancer({ id: 2, labels: OWN })];
    expect(findBalancer(balancers, UID, "wanted")).toEqual({ kind: "ambiguous", ids: [1, 2] });
  });

  it("HCCM S18: never takes another Service's, whatever its name", () => {
    expect(findBalancer([aBalancer({ name: "wanted", labels: OTHERS })], UID, "wanted")).toEqual({
      kind: "taken",
      owner: "another",
    });
  });

  it("takes an owner that was emptied for an owner", () => {
    const labels = { "hcloud-ccm/service-uid": "" };
    expect(findBalancer([aBalancer({ name: "wanted", labels })], UID, "wanted")).toMatchObject({ kind: "taken" });
  });
});
