import { describe, expect, it } from "vitest";
import { TIMINGS } from "../../../../controller/work/timings.ts";

describe("timings", () => {
  it("are these", () => {
    expect(TIMINGS).toEqual({
      watch: { shortest: 10_000, longest: 15_000, grace: 5_000 },
      kubeRequest: 15_000,
      watchRetry: { first: 100, most: 500, mostRefused: 10_000 },
      steadyWatch: 1_000,
      stale: 30_000,
      outage: 10_000,
      absence: 30_000,
      recent: 1_000,
      turnRetry: { first: 1_000, most: 30_000 },
      unitRetry: {
        soon: { first: 1_000, most: 60_000 },
        backoff: { first: 5_000, most: 300_000 },
        never: { first: 300_000, most: 300_000 },
      },
      mirror: 5_000,
      pace: { first: 30_000, most: 300_000, calm: 600_000, step: 10_000, window: 60_000 },
    });
  });

  it("have a retry planned from a new list", () => {
    const { recent, unitRetry } = TIMINGS;
    for (const { first } of Object.values(unitRetry)) expect(first).toBeGreaterThanOrEqual(recent);
  });

  it("leave a watch time to be renewed before its objects are stale", () => {
    const { watch, kubeRequest, stale } = TIMINGS;
    expect(watch.longest + watch.grace).toBeLessThan(stale);
    expect(kubeRequest).toBeLessThan(watch.longest + watch.grace);
  });
});
