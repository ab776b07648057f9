import { expect, it } from "vitest";
import { disagreements, planByPulumi, randomPairs } from "../support/agreement.ts";

it("our difference is empty exactly when Pulumi plans nothing, and names the same parts: 150 random units", async () => {
  const pairs = randomPairs(1, 150);
  const planned = await planByPulumi(pairs);
  expect(disagreements(pairs, planned)).toEqual([]);
  // Both cases must be frequent, or the test would prove nothing.
  expect(pairs.length - planned.size, "settled units").toBeGreaterThan(30);
  expect(planned.size, "units with changes").toBeGreaterThan(30);
});
