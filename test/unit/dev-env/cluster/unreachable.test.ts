import { expect, test } from "vitest";
import { renderConditions } from "../../../../dev-env/cluster/node-object.ts";
import { lostConditions } from "../../../../dev-env/cluster/unreachable.ts";

test("a silent kubelet's conditions become Unknown, and conditions of others are left alone", () => {
  const before = new Date("2026-11-17T12:00:00Z");
  const now = new Date("2026-11-17T12:00:50Z");
  const network = { type: "NetworkUnavailable", status: "False" };
  const lost = lostConditions(
    [...renderConditions(true, { now: before, started: before, changed: before }), network],
    now,
  );
  expect(lost.map(({ type, status, reason }) => [type, status, reason])).toEqual(
    ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map((type) => [type, "Unknown", "NodeStatusUnknown"]),
  );
  expect(lost.every((it) => it.lastHeartbeatTime === before && it.lastTransitionTime === now)).toBe(true);
});
