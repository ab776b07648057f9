import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../../controller/formats/finalizer.ts";
import { intentOf, servedClasses, serviceRef } from "../../../../../controller/render/service/ours.ts";
import { aService, UID } from "../../../../support/builders.ts";

const OURS = [FINALIZER];

describe("intentOf", () => {
  it.each([
    ["framework S01: a ClusterIP Service", { type: "ClusterIP" }, "none"],
    ["framework S02: a LoadBalancer Service", {}, "balance"],
    ["framework S34: one that has the finalizer", { finalizers: OURS }, "balance"],
    ["framework S03: one of a class", { loadBalancerClass: "x" }, "none"],
    [
      "framework S04, S33, S67: no longer a LoadBalancer, with the finalizer",
      { type: "ClusterIP", finalizers: OURS },
      "retire",
    ],
    ["framework S05, S35, S68: being deleted, with the finalizer", { isDeleted: true, finalizers: OURS }, "retire"],
    ["framework S32: being deleted, without the finalizer", { isDeleted: true }, "none"],
    ["framework S61: being deleted, with another finalizer", { isDeleted: true, finalizers: ["foo"] }, "none"],
    [
      "framework S61: being deleted, with both finalizers",
      { isDeleted: true, finalizers: ["foo", FINALIZER] },
      "retire",
    ],
    [
      "unlike framework S69: of a class, being deleted, with the finalizer",
      { loadBalancerClass: "x", isDeleted: true, finalizers: OURS },
      "none",
    ],
  ])("%s: %s", (_, service, intent) => {
    expect(intentOf(aService(service))).toBe(intent);
  });

  it.each([
    ["without one", "", [true, false, false]],
    ["a class alone", "example.com/ours", [false, true, false]],
    ["a class beside those without", "+example.com/ours", [true, true, false]],
  ])("serves classes: %s (%j)", (_, text, expected) => {
    const parsed = servedClasses(text);
    const served = "value" in parsed ? parsed.value : undefined;
    const of = (given: Parameters<typeof aService>[0]) => intentOf(aService(given), served) === "balance";
    expect([of({}), of({ loadBalancerClass: "example.com/ours" }), of({ loadBalancerClass: "example.com/x" })]).toEqual(
      expected,
    );
  });

  it("releases Services of its own class, and never touches those of another, nor their finalizer", () => {
    const served = { name: "ours", classless: false };
    const leaving = (loadBalancerClass: string) =>
      aService({ loadBalancerClass, isDeleted: true, finalizers: [FINALIZER] });
    expect(intentOf(leaving("ours"), served)).toBe("retire");
    expect(intentOf(leaving("theirs"), served)).toBe("none");
    expect(intentOf(aService({ isDeleted: true, finalizers: OURS }), served)).toBe("none");
    expect(intentOf(aService({ type: "ClusterIP", finalizers: OURS }), served)).toBe("retire");
  });

  it.each(["++x", "a b", "a/b/c", "+", "x,y", `a/${"b".repeat(316)}`])(
    "rejects the class %j and says what is allowed",
    (text) => {
      expect(servedClasses(text)).toEqual({ allowed: expect.stringContaining("+example.com/lotse") });
    },
  );

  it("shares its finalizer with the official controller (HCCM K10)", () => {
    expect(FINALIZER).toBe("service.kubernetes.io/load-balancer-cleanup");
  });
});

it("refers to a Service by namespace, name and uid", () => {
  expect(serviceRef(aService())).toEqual({ namespace: "default", name: "web", uid: UID });
});
