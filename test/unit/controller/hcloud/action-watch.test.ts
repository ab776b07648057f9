import { describe, expect, it } from "vitest";
import { type Action, ActionWatch, nextPoll } from "../../../../controller/hcloud/action-watch.ts";
import { ManualClock } from "../../../support/clock.ts";

const running = (id: number, command = "attach"): Action => ({ id, command, status: "running" });

/** A watch over actions that end when a test says so; `looks` has the ids of every request. */
function aWatch() {
  const ended = new Map<number, Action["status"]>();
  const looks: number[][] = [];
  const world = { isDown: false };
  const clock = new ManualClock();
  const watch = new ActionWatch(async (ids) => {
    looks.push([...ids]);
    if (world.isDown) throw new Error("unreachable");
    return ids.map((id) => ({ ...running(id), status: ended.get(id) ?? "running" }));
  }, clock);
  return { watch, ended, looks, world, clock };
}

describe("the watch over actions", () => {
  it("does not poll an action that has ended", async () => {
    const { watch, looks } = aWatch();
    const action: Action = { id: 1, command: "x", status: "error" };
    await expect(watch.settle(action, 1_000)).resolves.toBe(action);
    expect(looks).toEqual([]);
  });

  it("polls all running actions in one request, and stops when none is left", async () => {
    const { watch, ended, looks, clock } = aWatch();
    const settled = Promise.all([watch.settle(running(1), 20_000), watch.settle(running(2), 20_000)]);
    ended.set(1, "success").set(2, "error");
    await clock.advance(2_000);
    await expect(settled).resolves.toMatchObject([
      { id: 1, status: "success" },
      { id: 2, status: "error" },
    ]);
    expect(looks).toEqual([[1, 2]]);
    await clock.advance(60_000);
    expect(looks).toHaveLength(1);
    expect(clock.sleeping).toBe(0);
  });

  it("serves all callers that wait for the same action", async () => {
    const { watch, ended, looks, clock } = aWatch();
    const settled = Promise.all([watch.settle(running(1), 20_000), watch.settle(running(1), 20_000)]);
    ended.set(1, "success");
    await clock.advance(2_000);
    await expect(settled).resolves.toMatchObject([{ status: "success" }, { status: "success" }]);
    expect(looks.every((ids) => ids.length === 1)).toBe(true);
  });

  it("returns a running action after the limit, and can be asked for it again", async () => {
    const { watch, ended, clock } = aWatch();
    const early = watch.settle(running(1), 1_000);
    await clock.advance(1_000);
    await expect(early).resolves.toEqual(running(1));
    const late = watch.settle(running(1), 20_000);
    ended.set(1, "success");
    await clock.advance(3_000);
    await expect(late).resolves.toMatchObject({ status: "success" });
  });

  it("retries after a failed poll", async () => {
    const { watch, ended, world, looks, clock } = aWatch();
    world.isDown = true;
    const settled = watch.settle(running(1), 20_000);
    await clock.advance(1_000);
    expect(looks.length).toBeGreaterThan(0);
    world.isDown = false;
    ended.set(1, "success");
    await clock.advance(3_000);
    await expect(settled).resolves.toMatchObject({ status: "success" });
  });

  it("survives a poll that finds an action ended after its last caller has left", async () => {
    const clock = new ManualClock();
    const polls: PromiseWithResolvers<readonly Action[]>[] = [];
    const watch = new ActionWatch(() => {
      const poll = Promise.withResolvers<readonly Action[]>();
      polls.push(poll);
      return poll.promise;
    }, clock);
    const left = watch.settle(running(1), 400);
    await clock.advance(400);
    await expect(left).resolves.toEqual(running(1));
    polls[0]?.resolve([{ ...running(1), status: "success" }]);
    const next = watch.settle(running(2), 20_000);
    await clock.advance(1_000);
    polls[1]?.resolve([{ ...running(2), status: "success" }]);
    await expect(next).resolves.toMatchObject({ id: 2, status: "success" });
  });

  it("never polls more actions than fit on one page", async () => {
    const { watch, ended, looks, clock } = aWatch();
    const ids = Array.from({ length: 30 }, (_, index) => index + 1);
    const settled = Promise.all(ids.map((id) => watch.settle(running(id), 20_000)));
    for (const id of ids) ended.set(id, "success");
    await clock.advance(5_000);
    await expect(settled).resolves.toHaveLength(30);
    expect(looks.map((look) => look.length)).toEqual([25, 5]);
  });

  it("learns how long actions of a kind take, and polls when they are likely to have ended", async () => {
    const { watch, ended, looks, clock } = aWatch();
    const first = watch.settle(running(1), 20_000);
    await clock.advance(1_000);
    ended.set(1, "success");
    await clock.advance(1_000);
    await first;
    const before = looks.length;
    ended.set(2, "success");
    const second = watch.settle(running(2), 20_000);
    await clock.advance(900);
    expect(looks).toHaveLength(before);
    await clock.advance(500);
    await expect(second).resolves.toMatchObject({ status: "success" });
    expect(looks).toHaveLength(before + 1);
  });

  it("is not slowed down by one slow action (B2): neither that one, nor the next, nor those of other kinds", async () => {
    const { watch, ended, looks, clock } = aWatch();
    const durationOf = async (id: number, command: string, ms: number) => {
      const started = clock.now();
      let endedAt = 0;
      const settled = watch.settle(running(id, command), 100_000).then(() => {
        endedAt = clock.now();
      });
      await clock.advance(ms);
      ended.set(id, "success");
      while (endedAt === 0) await clock.advance(10);
      await settled;
      return endedAt - started;
    };
    await durationOf(1, "create", 800);
    const before = looks.length;
    expect(await durationOf(2, "create", 60_000)).toBeLessThan(62_100);
    expect(looks.length - before, "a slow action costs a poll every two seconds").toBeLessThan(40);
    expect(await durationOf(3, "create", 800)).toBeLessThan(1_300);
    expect(await durationOf(4, "delete", 800)).toBeLessThan(1_300);
    expect(await durationOf(5, "create", 800)).toBeLessThan(1_200);
  });

  it("does not delay an action because a poll for others came too early for it", async () => {
    const { watch, ended, looks, clock } = aWatch();
    const first = watch.settle(running(1), 20_000);
    ended.set(1, "success");
    await clock.advance(1_000);
    await first; // an action takes about 300 ms, as far as is known now
    const early = watch.settle(running(2), 20_000);
    await clock.advance(200);
    const late = watch.settle(running(3), 20_000);
    ended.set(2, "success");
    await clock.advance(150);
    await early;
    expect(looks.at(-1)).toEqual([2, 3]);
    ended.set(3, "success");
    await clock.advance(200);
    await expect(late).resolves.toMatchObject({ status: "success" });
  });
});

it("does not report the success of a slow action that has not ended when it is no longer followed", async () => {
  const { watch, clock } = aWatch();
  const response = { status: 201, headers: {}, body: JSON.stringify({ action: running(1) }) };
  const limits = { mostMs: 20_000, followMs: 60_000, hurry: undefined };
  const waiting = watch.settleUnlessSlow(response, running(1), limits);
  await clock.advance(20_000);
  const { settled, ended } = await waiting;
  expect(settled).toBeUndefined();
  await clock.advance(40_000);
  await expect(ended).resolves.toEqual({ code: "action_running", message: "the action attach has not ended yet" });
});

describe("nextPoll", () => {
  it.each([
    ["at the first expected end", [300, 5_000], 300],
    ["a little later when another follows close behind", [300, 390], 390],
    ["but not for a chain without end", [300, 390, 480, 570, 660, 750, 840, 930], 750],
    ["not sooner than a tenth of a second", [10], 100],
    ["not sooner even when it is overdue", [-500], 100],
    ["not later than two seconds", [60_000], 2_000],
  ])("comes %s", (_, ends, expected) => {
    expect(nextPoll(ends, 0)).toBe(expected);
  });
});
