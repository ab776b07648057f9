import { describe, expect, it } from "vitest";
import { Backoff } from "../../../../controller/guard/backoff.ts";

function aBackoff() {
  const time = { now: 0 };
  return { time, backoff: new Backoff(() => time.now) };
}

/** The pauses after so many failures of one kind in a row. */
function pauses(retry: "soon" | "backoff" | "never", count: number): readonly (number | undefined)[] {
  const { backoff } = aBackoff();
  return Array.from({ length: count }, () => {
    backoff.failed("a", "x", retry);
    return backoff.nextMs;
  });
}

describe("backing off", () => {
  it.each([
    ["soon", [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]],
    ["backoff", [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]],
    ["never", [300_000, 300_000]],
  ] as const)("HCCM S6: waits longer after each failure of a unit with the verdict %s", (retry, expected) => {
    expect(pauses(retry, expected.length)).toEqual(expected);
  });

  it("does not overflow after very many failures", () => {
    expect(pauses("soon", 2_000).at(-1)).toBe(60_000);
  });

  it("applies to the same attempt, until its time", () => {
    const { backoff, time } = aBackoff();
    expect(backoff.isDue("a", "x")).toBe(true);
    backoff.failed("a", "x", "soon");
    expect(backoff.isDue("a", "x")).toBe(false);
    expect(backoff.isDue("a", "another try")).toBe(true);
    expect(backoff.isDue("b", "x")).toBe(true);
    time.now = 1_000;
    expect(backoff.isDue("a", "x")).toBe(true);
  });

  it("restarts with a different attempt", () => {
    const { backoff } = aBackoff();
    for (const fingerprint of ["x", "x", "y"]) backoff.failed("a", fingerprint, "soon");
    expect(backoff.nextMs).toBe(1_000);
  });

  it("forgets units that succeeded or are no longer wanted", () => {
    const { backoff } = aBackoff();
    for (const key of ["a", "b", "c"]) backoff.failed(key, "x", "soon");
    backoff.clear("a");
    backoff.retain(new Set(["a", "b"]));
    expect(["a", "b", "c"].map((key) => backoff.isDue(key, "x"))).toEqual([true, false, true]);
  });

  it("says when the next unit is due", () => {
    const { backoff, time } = aBackoff();
    expect(backoff.nextMs).toBeUndefined();
    backoff.failed("a", "x", "backoff");
    backoff.failed("b", "x", "soon");
    expect(backoff.nextMs).toBe(1_000);
    time.now = 2_000;
    expect(backoff.nextMs).toBe(0);
  });
});
