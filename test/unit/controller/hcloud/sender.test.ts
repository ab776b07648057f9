import { describe, expect, it } from "vitest";
import type { ApiRequest, ApiResponse } from "../../../../controller/hcloud/exchange.ts";
import { Sender, type Upstream } from "../../../../controller/hcloud/sender.ts";
import type { Clock } from "../../../../controller/work/clock.ts";
import { ManualClock, QuickClock } from "../../../support/clock.ts";

const LIST = { method: "GET", path: "/load_balancers" } as const;
const WRITE = { method: "PUT", path: "/load_balancers/1" } as const;
const RUN = { run: "r", mode: "apply" } as const;
const headers = (remaining: number) => ({ "ratelimit-limit": "3600", "ratelimit-remaining": `${remaining}` });
const EMPTY: ApiResponse = { status: 429, headers: headers(0), body: "{}" };
const RICH: ApiResponse = { status: 200, headers: headers(3600), body: "{}" };

function aSender() {
  const world = { answer: EMPTY, sent: 0 };
  const upstream = {
    send: async () => {
      world.sent += 1;
      return world.answer;
    },
    close: () => {},
  };
  const sender = (clock: Clock) => new Sender(upstream as unknown as Upstream, () => {}, clock);
  return { sender: sender(new QuickClock()), senderWith: sender, world };
}

describe("a project whose budget others have used up", () => {
  it("fails a read after a few minutes, so that the turn ends", async () => {
    const { senderWith, world } = aSender();
    let now = 0;
    const pause = async (ms: number) => {
      now += ms;
    };
    const sender = senderWith({ now: () => now, wallTime: () => now, pause });
    expect((await sender.send(RUN, LIST, "normal")).status).toBe(429);
    expect([world.sent, now]).toEqual([4, 183_000]);
  });

  it("drops a write whose run ends while it waits, at once, and does not count it any longer", async () => {
    const { sender, world } = aSender();
    const ended = new AbortController();
    const write = sender.send(RUN, WRITE, "normal", ended.signal);
    await expect.poll(() => world.sent).toBe(1);
    ended.abort();
    await expect(write).rejects.toThrow("the run ended");
    world.answer = RICH;
    await sender.send(RUN, LIST, "urgent");
    expect(sender.budget.remaining).toBe(3600);
  });

  it("fails everything that waits when the controller stops", async () => {
    const { sender, world } = aSender();
    const waiting = [sender.send(RUN, WRITE, "normal"), sender.send(RUN, LIST, "normal")];
    await expect.poll(() => world.sent).toBe(2);
    sender.giveUp();
    const results = await Promise.allSettled(waiting);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});

describe("many requests that wait for the budget", () => {
  /** The API's bucket, empty at first: one request per second, and a refusal costs nothing. */
  function aCrowd(requests: readonly ApiRequest[]) {
    const clock = new ManualClock();
    const bucket = { tokens: 0, at: 0 };
    const seen: { readonly at: number; readonly method: string; readonly status: number }[] = [];
    const send = async ({ method }: ApiRequest): Promise<ApiResponse> => {
      const now = clock.now();
      bucket.tokens += (now - bucket.at) / 1_000;
      bucket.at = now;
      const status = bucket.tokens < 1 ? 429 : 200;
      if (status === 200) bucket.tokens -= 1;
      seen.push({ at: now, method, status });
      return { status, headers: headers(Math.floor(bucket.tokens)), body: "{}" };
    };
    const upstream = { send, close: () => {} } as unknown as Upstream;
    const sender = new Sender(upstream, () => {}, clock);
    const answers = Promise.all(requests.map((request) => sender.send(RUN, request, "normal")));
    return { clock, seen, answers };
  }

  it("are not released at the same instant, only to be refused again", async () => {
    const { clock, seen, answers } = aCrowd(Array.from({ length: 200 }, () => WRITE));
    await clock.advance(300_000);
    expect((await answers).every(({ status }) => status === 200)).toBe(true);
    const later = seen.filter(({ at }) => at > 0);
    expect(later.filter(({ status }) => status === 429)).toHaveLength(0);
    expect(new Set(later.map(({ at }) => at)).size).toBe(200);
  });

  it("do not delay a read for longer than it may wait", async () => {
    const { clock, seen } = aCrowd([...Array.from({ length: 200 }, () => WRITE), LIST]);
    await clock.advance(150_000);
    expect(seen.filter(({ method }) => method === "GET")).toEqual([
      { at: 0, method: "GET", status: 429 },
      { at: 150_000, method: "GET", status: 200 },
    ]);
  });
});
