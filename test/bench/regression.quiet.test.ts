import { describe, expect, it } from "vitest";
import { startOurs } from "./controllers.ts";
import { SCENARIOS } from "./scenarios.ts";

/** How much more than usual is a regression. Counts and megabytes only: seconds depend on the machine. */
const SLACK = 1.15;
const GUARDED = SCENARIOS.flatMap(({ name, usual, run }) => (usual ? [{ name, usual, run }] : []));

describe("requests to the Hetzner API and memory do not grow", () => {
  it.each(GUARDED)("$name", { timeout: 300_000 }, async ({ usual, run }) => {
    const { calls, memory } = await run(startOurs);
    const found = { calls, ...memory };
    const limits = Object.entries({ calls: usual.calls, ...usual.memory }).map(([what, most]) => [what, most * SLACK]);
    const exceeded = limits.filter(([what, most]) => found[what as keyof typeof found] > Number(most));
    expect(exceeded, JSON.stringify(found)).toEqual([]);
  });
});
