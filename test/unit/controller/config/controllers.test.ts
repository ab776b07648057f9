import { describe, expect, it } from "vitest";
import { controllers } from "../../../../controller/config/flag-values.ts";

/** The names of those that are on. */
function on(text: string): readonly string[] {
  const parsed = controllers(text);
  if (!("value" in parsed)) throw new Error(parsed.allowed);
  return Object.entries(parsed.value)
    .filter(([, isOn]) => isOn)
    .map(([name]) => name);
}

describe("--controllers", () => {
  it.each([
    ["*", ["node", "lifecycle", "service", "route"]],
    ["", []],
    ["service", ["service"]],
    ["*,-route", ["node", "lifecycle", "service"]],
    ["-route,*", ["node", "lifecycle", "service"]],
    ["-route", []],
    ["cloud-node-controller, node-route-controller", ["node", "route"]],
    ["*,-cloud-node-lifecycle-controller,-service-lb-controller", ["node", "route"]],
    ["route,-route", ["route"]],
    ["-node-route-controller,route", []],
  ])("%j enables %j", (text, expected) => {
    expect(on(text)).toEqual(expected);
  });

  it.each(["nodes", "-foo", "service,-", "**"])("%j is rejected with the list of known names", (text) => {
    expect(controllers(text)).toEqual({ allowed: expect.stringContaining("cloud-node-lifecycle") });
  });
});
