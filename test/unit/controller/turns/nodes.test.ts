import type { V1Node } from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CloudError, KubeError } from "../../../../controller/diagnostics/errors.ts";
import type { Write } from "../../../../controller/publish/writes.ts";
import { type NodePatch, UNINITIALIZED_TAINT } from "../../../../controller/render/node/patch.ts";
import { NodeTurn } from "../../../../controller/turns/nodes.ts";
import { aNode, aServer } from "../../../support/builders.ts";
import { aCloud } from "../../../support/fake-cloud.ts";
import { aLog } from "../../../support/log.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

const NOW = Date.parse("2026-11-16T08:00:00Z");
const ago = (seconds: number) => ({ created: new Date(NOW - seconds * 1_000) });
const TAINTED = { taints: [{ key: UNINITIALIZED_TAINT, effect: "NoSchedule" }] };

function aTurn(...nodes: V1Node[]) {
  const cloud = aCloud({ servers: [aServer({ id: 1 }), aServer({ id: 2 })] });
  const patches: [string, NodePatch][] = [];
  const writes: Write[] = [];
  const { log, lines } = aLog();
  const world = { nodes, broken: "", gone: "", conflicts: 0, elapsedMs: 0 };
  const turn = new NodeTurn({
    nodes: () => world.nodes,
    view: cloud.view,
    patcher: {
      patchNode: async (node, patch) => {
        const name = node.metadata?.name ?? "";
        if (name === world.broken) throw new Error(`${name} cannot be patched`);
        if (name === world.gone) throw new KubeError(`PATCH ${name}`, 404, "not found");
        if (world.conflicts-- > 0) throw new KubeError(`PATCH ${name}`, 409, "the object has been modified");
        patches.push([name, patch]);
      },
      readNode: async (name) => world.nodes.find(({ metadata }) => metadata?.name === name),
    },
    publish: async (more) => void writes.push(...more),
    options: { addressFamily: "dualstack", zoneLabel: true },
    log,
    now: () => NOW + world.elapsedMs,
  });
  const reasons = () => writes.map((write) => (write.kind === "event" ? write.event.reason : write.kind));
  return { turn, cloud, patches, writes, lines, world, reasons };
}

describe("a turn for Nodes", () => {
  it("framework N33: initialises a Node and writes an Event", async () => {
    const { turn, patches, reasons } = aTurn(aNode({ name: "node-1", ...TAINTED }));
    await expect(turn.run()).resolves.toBeUndefined();
    expect(patches).toMatchObject([["node-1", { providerId: "hcloud://1", taints: [] }]]);
    expect(reasons()).toEqual(["Synced"]);
  });

  it("framework N23: writes nothing when every Node is up to date", async () => {
    const { turn, patches, world, writes, lines } = aTurn(aNode({ name: "node-1" }));
    await turn.run();
    const [, patch] = patches[0] ?? [];
    const labels = Object.fromEntries(Object.entries(patch?.labels ?? {}).map(([key, value]) => [key, value ?? ""]));
    world.nodes = [aNode({ id: 1, labels, addresses: patch?.addresses ?? [] })];
    patches.length = 0;
    const said = lines.length;
    await turn.run();
    expect(patches).toEqual([]);
    expect(writes).toEqual([]);
    expect(lines).toHaveLength(said);
  });

  it("handles many joining Nodes with one list", async () => {
    const { turn, cloud, patches } = aTurn(aNode({ name: "node-1" }), aNode({ name: "node-2" }));
    await turn.run();
    await turn.run();
    expect(patches).toHaveLength(4);
    expect(cloud.reads).toHaveLength(1);
  });

  it("unlike HCCM Q1: looks for the servers of any number of Nodes with one list, and one more per turn", async () => {
    const lost = Array.from({ length: 50 }, (_, index) => aNode({ name: `lost-${index}`, ...TAINTED, ...ago(60) }));
    const { turn, cloud } = aTurn(...lost);
    await turn.run();
    expect(cloud.reads).toHaveLength(1);
    vi.advanceTimersByTime(5_000);
    await turn.run();
    expect(cloud.reads).toHaveLength(2);
  });

  it.each([
    ["a small project", 10, 0, 130],
    ["a large project", 1_000, 0, 200],
    ["a clock that is behind", 1_000, -600, 200],
  ])(
    "limits the requests for a Node without a server in its first ten minutes: %s (hardening 15)",
    async (_, count, age, most) => {
      const { turn, cloud, world } = aTurn(aNode({ name: "misnamed", ...TAINTED, ...ago(age) }));
      cloud.servers = Array.from({ length: count }, (__, index) => aServer({ id: index + 1 }));
      while (world.elapsedMs < 600_000) {
        const waitMs = (await turn.run()) ?? 60_000;
        vi.advanceTimersByTime(waitMs);
        world.elapsedMs += waitMs;
      }
      const pages = Math.ceil(count / 50);
      expect(cloud.reads.length * pages).toBeLessThanOrEqual(most);
    },
  );

  it("reads a fresh list when a Node's server is missing from an older one", async () => {
    const { turn, cloud, world, patches } = aTurn(aNode({ id: 1 }));
    await turn.run();
    patches.length = 0;
    cloud.servers = [aServer({ id: 1 }), aServer({ id: 9 })];
    world.nodes = [aNode({ name: "node-9", ...TAINTED, ...ago(60) })];
    vi.advanceTimersByTime(10_000);
    await expect(turn.run()).resolves.toBeUndefined();
    expect(patches).toMatchObject([["node-9", { providerId: "hcloud://9" }]]);
  });

  it.each([
    ["a second: no Event yet, retry in a second", 1, 1_000, []],
    ["a minute: an Event, retry in five seconds", 60, 5_000, ["InitializationFailed"]],
    ["an hour: an Event, retry at each resync", 3_600, undefined, ["InitializationFailed"]],
  ])("framework N07, N27: handles a Node that has had no server for %s", async (_, age, retryMs, expected) => {
    const { turn, reasons, patches } = aTurn(aNode({ name: "lost", ...TAINTED, ...ago(age) }));
    await expect(turn.run()).resolves.toBe(retryMs);
    expect(reasons()).toEqual(expected);
    expect(patches).toEqual([]);
  });

  it.each([
    ["waits to be initialised", { ...TAINTED, id: 9 }, "InitializationFailed", "is not initialised: no server with"],
    ["has been initialised", { id: 9 }, "SyncFailed", "cannot be synced: no server with"],
    [
      "states an address that is none (HCCM P18)",
      { ...TAINTED, id: 1, annotations: { "instance.hetzner.cloud/external-ipv6": "::1" } },
      "InvalidExternalIPv6",
      "is not initialised: annotation",
    ],
  ])("reports what is wrong with a Node that %s", async (_, given, reason, words) => {
    const { turn, writes, patches } = aTurn(aNode({ ...given, ...ago(60) }));
    await turn.run();
    expect(writes).toMatchObject([{ event: { type: "Warning", reason, message: expect.stringContaining(words) } }]);
    expect(patches).toEqual([]);
  });

  it("framework N29: recomputes the patch from the current Node on a conflict", async () => {
    const { turn, patches, world, reasons } = aTurn(aNode({ name: "node-1", ...TAINTED }));
    world.conflicts = 3;
    const run = turn.run();
    const other = { key: "example.com/theirs", effect: "NoSchedule" };
    world.nodes = [aNode({ name: "node-1", taints: [...TAINTED.taints, other] })];
    await run;
    expect(patches).toMatchObject([["node-1", { taints: [other] }]]);
    expect(reasons()).toEqual(["Synced"]);
  });

  it("framework N29: leaves the Node to the next turn after twenty conflicts", async () => {
    const { turn, world } = aTurn(aNode({ name: "node-1", ...TAINTED }));
    world.conflicts = 20;
    await expect(turn.run()).rejects.toThrow("has been modified");
    world.conflicts = 19;
    await turn.run();
  });

  it.each([
    ["is gone", () => []],
    ["was initialised by another", () => [aNode({ name: "node-1", providerID: "k3s://a" })]],
  ])("stops after a conflict when the Node %s", async (_, after) => {
    const { turn, patches, world } = aTurn(aNode({ name: "node-1", ...TAINTED }));
    world.conflicts = 1;
    const run = turn.run();
    world.nodes = after();
    await run;
    expect(patches).toEqual([]);
  });

  it("ignores a Node that is deleted before it is patched", async () => {
    const { turn, world, patches, reasons } = aTurn(aNode({ name: "node-1", ...TAINTED }), aNode({ name: "node-2" }));
    world.gone = "node-1";
    await expect(turn.run()).resolves.toBeUndefined();
    expect(patches.map(([name]) => name)).toEqual(["node-2"]);
    expect(reasons()).toEqual([]);
  });

  it("warns before it removes an InternalIP because HCLOUD_NETWORK is not set", async () => {
    const { turn, writes, patches } = aTurn(aNode({ id: 1, addresses: [{ type: "InternalIP", address: "10.0.0.2" }] }));
    await turn.run();
    expect(writes).toMatchObject([{ event: { type: "Warning", reason: "InternalIPRemoved" } }]);
    expect(patches).toHaveLength(1);
  });

  it.each([
    ["a dedicated server", "hrobot://5"],
    ["a broken ProviderID", "hcloud://x"],
  ])("does not keep polling for %s, which no list will ever have", async (_, providerID) => {
    const { turn, cloud, reasons } = aTurn(aNode({ providerID }));
    await turn.run();
    vi.advanceTimersByTime(10_000);
    await expect(turn.run()).resolves.toBeUndefined();
    expect(cloud.reads).toHaveLength(1);
    expect(reasons()).toEqual(["SyncFailed", "SyncFailed"]);
  });

  it("framework N14: changes nothing when the cloud cannot be read", async () => {
    const { turn, cloud, patches, writes } = aTurn(aNode({ name: "node-1", ...TAINTED }));
    cloud.failure = new CloudError("GET /servers", 503, "unavailable", "down");
    await expect(turn.run()).rejects.toThrow("down");
    expect([patches, writes]).toEqual([[], []]);
  });

  it("leaves other providers' Nodes alone, and says so with HCCM's Event", async () => {
    const { turn, patches, writes } = aTurn(aNode({ name: "edge", providerID: "k3s://a" }));
    await expect(turn.run()).resolves.toBeUndefined();
    expect(patches).toEqual([]);
    const message = expect.stringContaining('Node edge is left alone: its providerID "k3s://a"');
    expect(writes).toMatchObject([{ event: { type: "Warning", reason: "UnknownProviderIDPrefix", message } }]);
  });

  it("framework N30: patches all other Nodes when one fails, then fails so that the turn is retried", async () => {
    const nodes = Array.from({ length: 40 }, (_, index) => aNode({ name: `n${index}`, id: (index % 2) + 1 }));
    const { turn, world, patches } = aTurn(...nodes);
    world.broken = "n3";
    await expect(turn.run()).rejects.toThrow("n3 cannot be patched");
    expect(patches).toHaveLength(39);
  });
});
