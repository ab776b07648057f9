import { describe, expect, it } from "vitest";
import { DeadlineError, repeat, retry } from "../../../../dev-env/cluster/repeat.ts";

it("continues after failures and stops with the signal", async () => {
  const ending = new AbortController();
  let count = 0;
  const work = async () => {
    if (++count === 3) ending.abort();
    throw new Error("ignored");
  };
  await repeat(1, work, ending.signal);
  expect(count).toBe(3);
});

it("stops at once during a pause", async () => {
  const ending = new AbortController();
  const done = repeat(60_000, () => Promise.reject(new Error("never")), ending.signal);
  ending.abort();
  await done;
});

describe("a retry", () => {
  const soon = { deadlineMs: 60_000, intervalMs: 1 };
  const failing = (message: string) => () => Promise.reject(new Error(message));

  it("ends with the first success, and reports the first line of each failure before it", async () => {
    const reasons: string[] = [];
    let count = 0;
    const work = () => (++count < 3 ? failing(`not yet\n${count}`)() : "done");
    expect(await retry(work, { ...soon, onWait: (reason) => reasons.push(reason) })).toBe("done");
    expect(reasons).toEqual(["not yet", "not yet"]);
  });

  it("ends at the deadline with the last failure, or with what failed and why", async () => {
    const late = { deadlineMs: 0, intervalMs: 60_000 };
    await expect(retry(failing("busy"), late)).rejects.toThrow(/^busy$/);
    const explained = retry(failing("busy"), { ...late, what: "no answer" });
    await expect(explained).rejects.toThrow(new DeadlineError("no answer after 0 s: busy"));
  });

  it("ends with a final failure", async () => {
    const isFinal = (error: unknown) => error instanceof TypeError;
    await expect(retry(() => Promise.reject(new TypeError("no")), { ...soon, isFinal, what: "x" })).rejects.toThrow(
      /^no$/,
    );
  });

  it("ends with the signal, also during a pause", async () => {
    const stop = new AbortController();
    const patience = { ...soon, intervalMs: 60_000, signal: stop.signal, onWait: () => stop.abort() };
    await expect(retry(failing("busy"), patience)).rejects.toThrow(/aborted/);
  });
});
