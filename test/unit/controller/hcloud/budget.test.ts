import { describe, expect, it } from "vitest";
import { Budget, minIntervalMs, type Priority } from "../../../../controller/hcloud/budget.ts";

function aBudget(remaining?: number, limit = 3_600) {
  const time = { now: 0 };
  const budget = new Budget(() => time.now);
  const learn = (left: number, status = 200) =>
    budget.learn(status, { "ratelimit-limit": String(limit), "ratelimit-remaining": String(left) });
  if (remaining !== undefined) learn(remaining);
  return { budget, time, learn };
}

describe("the rate budget", () => {
  it("delays nothing while plenty is left", () => {
    const { budget } = aBudget();
    expect(budget.spend("normal")).toBe(0);
    expect(budget.remaining).toBe(3_599);
  });

  it.each([
    ["normal", 61, 0],
    ["normal", 60, 1_000],
    ["normal", 0, 61_000],
    ["urgent", 1, 0],
    ["urgent", 0, 1_000],
  ] as const)("makes %s requests wait at %d left: %d ms", (priority, left, waitMs) => {
    expect(aBudget(left).budget.spend(priority)).toBe(waitMs);
  });

  it("lets requests that wait go one after another, urgent ones before all others", () => {
    const { budget } = aBudget(0);
    const wait = (priority: Priority) => budget.spend(priority);
    expect([wait("normal"), wait("normal"), wait("normal")]).toEqual([61_000, 62_000, 63_000]);
    expect([wait("urgent"), wait("urgent")]).toEqual([1_000, 2_000]);
    expect(wait("normal")).toBe(66_000);
  });

  it("counts a request that waited when it is sent, and gives its slot back when it is dropped", () => {
    const { budget, time } = aBudget(0);
    for (let index = 0; index < 3; index += 1) budget.spend("normal");
    time.now = 61_000;
    budget.endWait("normal", true);
    expect(budget.remaining).toBe(60);
    expect(budget.spend("normal")).toBe(3_000);
    budget.endWait("normal", false);
    budget.endWait("normal", false);
    expect(budget.remaining).toBe(60);
    expect(budget.spend("normal")).toBe(2_000);
  });

  it("counts requests that wait apart from those in flight, also after a refusal", () => {
    const { budget, learn } = aBudget(61);
    expect([budget.spend("normal"), budget.spend("normal")]).toEqual([0, 1_000]);
    learn(40);
    expect(budget.remaining).toBe(40);
    expect(budget.spend("normal")).toBe(22_000);
    learn(0, 429);
    expect(budget.spend("normal")).toBe(63_000);
  });

  it("reserves less when the limit is lower", () => {
    expect(aBudget(11, 100).budget.spend("normal")).toBe(0);
    expect(aBudget(10, 100).budget.spend("normal")).toBe(36_000);
  });

  it("refills as the API does, up to the limit", () => {
    const { budget, time } = aBudget(0);
    time.now = 10_000;
    expect(budget.remaining).toBe(10);
    time.now = 3_600_000 * 5;
    expect(budget.remaining).toBe(3_600);
  });

  it("uses the API's figures, minus requests in flight", () => {
    const { budget, learn } = aBudget(1_000);
    budget.spend("normal");
    budget.spend("normal");
    budget.spend("normal");
    learn(500);
    expect(budget.remaining).toBe(498);
    expect(budget.limit).toBe(3_600);
  });

  it("is empty after a refusal, whatever the headers say", () => {
    const { budget, learn } = aBudget(1_000);
    budget.spend("normal");
    learn(900, 429);
    expect(budget.remaining).toBe(0);
  });

  it("is full again after a refusal when the API responds without a limit", () => {
    const budget = new Budget(() => 0);
    budget.spend("normal");
    budget.learn(429, {});
    expect(budget.remaining).toBe(0);
    budget.spend("normal");
    budget.learn(200, {});
    expect(budget.remaining).toBe(3600);
  });

  it("does not change after a response without figures, or none", () => {
    const { budget } = aBudget(1_000);
    budget.spend("normal");
    budget.learn(0, {});
    expect(budget.remaining).toBe(999);
    budget.spend("normal");
    budget.learn(200, { "ratelimit-limit": "x", "ratelimit-remaining": "y" });
    expect(budget.remaining).toBe(998);
  });

  it("learns the limit of another project", () => {
    const { budget } = aBudget(10, 100);
    expect(budget.limit).toBe(100);
  });
});

it.each([
  [3_600, 0],
  [1_800, 0],
  [1_799, 2_016],
  [900, 16_000],
  [0, 30_000],
])("with %d of 3600 requests left, turns are at least %d ms apart (hardening 3)", (remaining, expected) => {
  expect(Math.round(minIntervalMs({ remaining, limit: 3_600 }))).toBe(expected);
});
