import { describe, expect, it } from "vitest";
import { Pace } from "../../../../controller/guard/pace.ts";
import { loadBalancerUnit } from "../../../../stacks/units/names.ts";
import { aService } from "../../../support/builders.ts";

/** A pace at a time that tests set, and what it says about the nth version of a Service. */
function aPace() {
  const time = { now: 0 };
  const pace = new Pace(() => time.now);
  const version = (n: number, uid = "1", name = "web") => aService({ name, uid, annotations: { name: `n${n}` } });
  const isHeld = (service: ReturnType<typeof version>) => {
    const { namespace = "", name = "", uid = "" } = service.metadata ?? {};
    return pace.holdBack([{ service, unit: loadBalancerUnit({ namespace, name, uid }) }]).size > 0;
  };
  return { time, pace, version, isHeld };
}

describe("a Service that keeps changing", () => {
  it("takes effect at once a few times, then at growing intervals", () => {
    const { time, isHeld, version } = aPace();
    const effective: number[] = [];
    for (let n = 0; time.now <= 1_500_000; n += 1, time.now += 1_000)
      if (!isHeld(version(n))) effective.push(time.now / 1_000);
    expect(effective).toEqual([0, 1, 2, 3, 4, 40, 100, 220, 460, 760, 1_060, 1_360]);
  });

  it("is slowed down when it is deleted and recreated, too", () => {
    const { isHeld, version } = aPace();
    const held = Array.from({ length: 8 }, (_, n) => isHeld(version(0, `uid-${n}`)));
    expect(held).toEqual([false, false, false, false, false, true, true, true]);
  });

  it("shares a few changes per minute with all that do so in its namespace, and none with other namespaces", () => {
    const { time, isHeld, version } = aPace();
    const effective: number[] = [];
    for (let n = 0; time.now < 300_000; n += 1, time.now += 1_000)
      for (let index = 0; index < 20; index += 1)
        if (!isHeld(version(n, "1", `web-${index}`))) effective.push(Math.floor(time.now / 60_000));
    const perMinute = [0, 1, 2, 3, 4].map((minute) => effective.filter((at) => at === minute).length);
    expect(perMinute).toEqual([20 * 5 + 3, 3, 3, 3, 3]);
    const other = aService({ namespace: "other", annotations: { name: "first" } });
    expect(isHeld(other)).toBe(false);
  });

  it("is held when it has changed back in the meantime, too", () => {
    const { time, pace, isHeld, version } = aPace();
    for (let n = 0; n < 5; n += 1) isHeld(version(n));
    time.now = 60_000;
    expect(pace.isHeld(version(5))).toBe(false);
    expect(isHeld(version(4))).toBe(false);
    expect(pace.isHeld(version(5))).toBe(true);
  });

  it("does not slow down others, nor what does not change", () => {
    const { pace, isHeld, version } = aPace();
    for (let n = 0; n < 9; n += 1) isHeld(version(n));
    expect(isHeld(version(4))).toBe(false);
    expect(isHeld(version(0, "2", "other"))).toBe(false);
    expect([pace.isHeld(version(1)), pace.isHeld(version(1, "2", "other"))]).toEqual([true, false]);
  });

  it("is forgotten when it has been calm", () => {
    const { time, pace, isHeld, version } = aPace();
    for (let n = 0; n < 9; n += 1) isHeld(version(n));
    expect(pace.nextMs).toBe(30_000);
    time.now = 600_001;
    expect(pace.nextMs).toBeUndefined();
    const held = Array.from({ length: 5 }, (_, n) => isHeld(version(100 + n)));
    expect(held).toEqual([false, false, false, false, false]);
  });
});
