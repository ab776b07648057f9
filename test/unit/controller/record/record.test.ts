import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseEntries } from "../../../../controller/record/entry.ts";
import { AuditRecord } from "../../../../controller/record/record.ts";
import { aLog } from "../../../support/log.ts";

const exchange = (path: string, method = "POST") => ({
  run: "r1",
  method,
  path,
  endpoint: path,
  status: 201,
  durationMs: 1,
});

/** A record over a ConfigMap that is only remembered; `failures` makes as many saves fail, `lostAnswers` after the change. */
function aRecord() {
  const saved: { data: Readonly<Record<string, string>>; saves: number; failures: number; lostAnswers: number } = {
    data: {},
    saves: 0,
    failures: 0,
    lostAnswers: 0,
  };
  const { log, lines } = aLog();
  const update = async (change: (data: Readonly<Record<string, string>>) => Readonly<Record<string, string>>) => {
    saved.saves += 1;
    if (saved.failures-- > 0) throw new Error("away");
    saved.data = change(saved.data);
    if (saved.lostAnswers-- > 0) throw new Error("socket hang up");
  };
  const record = new AuditRecord({ map: { update }, log });
  return {
    record,
    saved,
    lines,
    paths: () => parseEntries(saved.data.entries ?? "").map((entry) => "path" in entry && entry.path),
  };
}

describe("the record in the cluster", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("saves entries in batches, and nothing at rest", async () => {
    const { record, saved, paths } = aRecord();
    record.note(exchange("/a"));
    record.note(exchange("/read", "GET"));
    record.note(exchange("/b"));
    expect(saved.saves).toBe(0);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(paths()).toEqual(["/a", "/b"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(saved.saves).toBe(1);
  });

  it("keeps unsaved entries for the next save, in order", async () => {
    const { record, saved, paths, lines } = aRecord();
    saved.failures = 1;
    record.note(exchange("/a"));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(lines).toMatchObject([{ level: "warn", msg: "audit record not saved, retrying" }]);
    record.note(exchange("/b"));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(paths()).toEqual(["/a", "/b"]);
  });

  it("is saved after a failure although nothing else changes", async () => {
    const { record, saved, paths } = aRecord();
    saved.failures = 1;
    record.note(exchange("/a"));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(paths()).toEqual([]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(paths()).toEqual(["/a"]);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(saved.saves).toBe(2);
  });

  it("is complete when the controller stops after a save has failed", async () => {
    const { record, saved, paths } = aRecord();
    saved.failures = 1;
    record.note(exchange("/a"));
    await vi.advanceTimersByTimeAsync(2_000);
    await record.stop();
    expect(paths()).toEqual(["/a"]);
  });

  it("contains each entry once although the answer to a save was lost", async () => {
    const { record, saved, paths } = aRecord();
    saved.lostAnswers = 1;
    record.note(exchange("/a"));
    await vi.advanceTimersByTimeAsync(2_000);
    record.note(exchange("/b"));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(saved.saves).toBe(2);
    expect(paths()).toEqual(["/a", "/b"]);
  });

  it("is complete when the controller has stopped", async () => {
    const { record, paths } = aRecord();
    record.note(exchange("/a"));
    await record.stop();
    expect(paths()).toEqual(["/a"]);
  });

  it("stays bounded, however much happens", async () => {
    const { record, saved } = aRecord();
    for (let index = 0; index < 5_000; index++) record.note(exchange(`/${"x".repeat(100)}/${index}`));
    await record.stop();
    expect(Buffer.byteLength(saved.data.entries ?? "")).toBeLessThanOrEqual(256 * 1024);
    expect(saved.data.entries).toContain("/4999");
  });
});
