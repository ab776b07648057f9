import { describe, expect, it } from "vitest";
import { KubeError } from "../../../../controller/diagnostics/errors.ts";
import type { KubeClient } from "../../../../controller/kube/client.ts";
import { type EventInput, EventRecorder } from "../../../../controller/kube/events.ts";
import { aLog } from "../../../support/log.ts";

const WARNING = { type: "Warning", reason: "SyncFailed", message: "it is wrong", component: "c" } as const;
const SERVICE = { kind: "Service", object: { metadata: { namespace: "shop", name: "web", uid: "1" } } } as const;
const NODE = { kind: "Node", object: { metadata: { name: "node-1", uid: "2" } } } as const;

describe("a warning that could not be written", () => {
  it.each([
    [503, {}, 2],
    [503, { occasion: "as it is" }, 2],
    [429, {}, 2],
    [403, {}, 1],
  ])("with status %i %j is tried %i times while it recurs", async (status, more, times) => {
    const { log } = aLog();
    let created = 0;
    const failing = { create: () => Promise.reject(new KubeError("POST", status, `${created++}`)) };
    const recorder = new EventRecorder(failing as unknown as KubeClient, log);
    for (let turn = 0; turn < 2; turn += 1) await recorder.record({ ...SERVICE, ...WARNING, ...more });
    expect(created).toBe(times);
  });
});

describe("the log of Events", () => {
  it.each<[Pick<EventInput, "kind" | "object">, string]>([
    [SERVICE, "Service shop/web"],
    [NODE, "Node node-1"],
  ])("names kind, namespace and name (newcomer W25): %j", async (about, object) => {
    const { log, lines } = aLog();
    const failing = { create: () => Promise.reject(new Error("timeout")) } as unknown as KubeClient;
    await new EventRecorder(failing, log).record({ ...about, ...WARNING });
    expect(lines).toMatchObject([
      { level: "warn", object, reason: "SyncFailed", msg: "it is wrong" },
      { level: "warn", object, reason: "SyncFailed", msg: "event not written", error: "timeout" },
    ]);
  });
});
