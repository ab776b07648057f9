import { describe, expect, it } from "vitest";
import { findBalancer } from "../../../../../controller/render/service/adoption.ts";
import { aBalancer, UID } from "../../../../support/builders.ts";

const OWN = { "hcloud-ccm/service-uid": UID };
const WANTED = { service: { namespace: "default", name: "web", uid: UID }, name: "wanted" };
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
    expect(findBalancer(balancers, WANTED)).toMatchObject({ kind, balancer: { id } });
  });

  it("finds none among unrelated ones", () => {
    expect(findBalancer([aBalancer({ name: "x" })], WANTED)).toEqual({ kind: "none" });
    expect(findBalancer([], WANTED)).toEqual({ kind: "none" });
  });

  it("does not choose between two with the label", () => {
    const balancers = [aBalancer({ id: 1, labels: OWN }), aBalancer({ id: 2, labels: OWN })];
    expect(findBalancer(balancers, WANTED)).toEqual({ kind: "ambiguous", ids: [1, 2] });
  });

  it("HCCM S18: never takes the load balancer of another Service, whatever its name", () => {
    expect(findBalancer([aBalancer({ name: "wanted", labels: OTHERS })], WANTED)).toEqual({
      kind: "taken",
      owner: "another",
      balancer: expect.objectContaining({ name: "wanted" }),
    });
  });

  it("treats an empty owner label as an owner", () => {
    const labels = { "hcloud-ccm/service-uid": "" };
    expect(findBalancer([aBalancer({ name: "wanted", labels })], WANTED)).toMatchObject({ kind: "taken" });
  });

  describe("by id", () => {
    const byId = { ...WANTED, id: 7 };

    it("takes precedence over the name, but not over the label", () => {
      const [named, other] = [aBalancer({ id: 1, name: "wanted" }), aBalancer({ id: 7, name: "x" })];
      expect(findBalancer([named, other], byId)).toMatchObject({ kind: "adoptable", balancer: { id: 7 } });
      const own = aBalancer({ id: 2, labels: OWN });
      expect(findBalancer([named, other, own], byId)).toMatchObject({ kind: "own", balancer: { id: 2 } });
    });

    it("never takes the load balancer of another Service, and does not fall back to the name", () => {
      expect(findBalancer([aBalancer({ id: 7, labels: OTHERS })], byId)).toMatchObject({ kind: "taken" });
      expect(findBalancer([aBalancer({ id: 1, name: "wanted" })], byId)).toEqual({ kind: "missing", id: 7 });
    });
  });
});
