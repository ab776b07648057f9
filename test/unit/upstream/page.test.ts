import { describe, expect, it } from "vitest";
import { deviationsIn, renderUpstreamPage, type Verdict } from "../../upstream/page.ts";
import { parseReport } from "../../upstream/report.ts";
import { EXCEPTIONS, exceptionFor, isSelected } from "../../upstream/selection.ts";

const TCP = "[sig-network] LoadBalancers [Feature:LoadBalancer] should be able to change a TCP service [Slow]";
const RANGES = "[sig-network] LoadBalancers [Feature:LoadBalancer] should only allow loadbalancer source ranges [Slow]";
const NODE_PORT = "[sig-network] Services should be able to create a functioning NodePort service [Conformance]";

const aVerdict = (test: string, outcome: Verdict["outcome"], message = ""): Verdict => ({
  test,
  outcome,
  seconds: 12.3,
  message,
});

describe("the selection", () => {
  it.each([
    [TCP, true],
    [NODE_PORT, true],
    ["[sig-network] Service endpoints latency should not be very high [Conformance]", false],
    ["[sig-storage] CSI should mount LoadBalancers", false],
  ])("of %s is %s", (test, expected) => {
    expect(isSelected(test)).toBe(expected);
  });

  it("has a reason for each exception", () => {
    expect(exceptionFor(TCP)).toBeUndefined();
    expect(exceptionFor(RANGES)?.outcome).toBe("left out");
    expect(EXCEPTIONS.filter(({ reason }) => !reason.endsWith("."))).toEqual([]);
  });
});

describe("a report of Ginkgo", () => {
  const spec = { ContainerHierarchyTexts: ["[sig-network] Services"], LeafNodeType: "It", RunTime: 2_500_000_000 };
  const report = (...specs: readonly object[]) => JSON.stringify([{ SpecReports: specs }]);

  it.each([
    ["passed", "passed"],
    ["skipped", "skipped"],
    ["failed", "failed"],
    ["timedout", "failed"],
    ["panicked", "failed"],
    ["interrupted", "failed"],
  ])("with the state %s means %s", (State, outcome) => {
    const Failure = { Message: "because" };
    expect(parseReport(report({ ...spec, LeafNodeText: "should work", State, Failure }))).toEqual([
      { test: "[sig-network] Services should work", outcome, seconds: 2.5, message: "because" },
    ]);
  });

  it("has no results for set-up, and may have none at all", () => {
    expect(parseReport(report({ ...spec, LeafNodeType: "BeforeSuite", LeafNodeText: "", State: "failed" }))).toEqual(
      [],
    );
    expect(parseReport('[{"SpecReports":null}]')).toEqual([]);
  });
});

describe("a deviation", () => {
  it("is a test that does not pass and has no reason, or that passes despite one", () => {
    const verdicts = [aVerdict(TCP, "failed", "no answer\nat line 1"), aVerdict(RANGES, "passed")];
    expect(deviationsIn(verdicts)).toEqual([
      `failed instead of passed: ${TCP}: no answer`,
      `passed instead of left out: ${RANGES}`,
    ]);
    expect(deviationsIn([aVerdict(TCP, "passed"), aVerdict(RANGES, "left out")])).toEqual([]);
  });
});

it("renders a page with a table for each group", () => {
  const verdicts = [aVerdict(TCP, "passed"), aVerdict(RANGES, "left out"), aVerdict(NODE_PORT, "passed")];
  const page = renderUpstreamPage(verdicts, "1.36.3", "2026-11-18");
  expect(page).toContain("on 2026-11-18, with the end-to-end tests of Kubernetes 1.36.3");
  expect(page).toContain("2 passed, 0 failed, 0 skipped, 1 left out.");
  expect(page.split("## ").slice(1)).toEqual([
    [
      "LoadBalancers",
      "",
      "| test | result | time | reason |",
      "| --- | --- | --- | --- |",
      "| should be able to change a TCP service | passed | 12 s |  |",
      `| should only allow loadbalancer source ranges | left out |  | ${exceptionFor(RANGES)?.reason} |`,
      "",
      "",
    ].join("\n"),
    [
      "Services",
      "",
      "| test | result | time | reason |",
      "| --- | --- | --- | --- |",
      "| should be able to create a functioning NodePort service | passed | 12 s |  |",
      "",
    ].join("\n"),
  ]);
});
