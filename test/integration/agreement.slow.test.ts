import { expect, it } from "vitest";
import { disagreements, planByPulumi, randomPairs } from "../support/agreement.ts";

it.each([2, 3, 4, 5, 6, 7, 8, 9])(
  "our difference agrees with Pulumi's about 300 random units, seed %d",
  async (seed) => {
    const pairs = randomPairs(seed, 300);
    expect(disagreements(pairs, await planByPulumi(pairs))).toEqual([]);
  },
);
