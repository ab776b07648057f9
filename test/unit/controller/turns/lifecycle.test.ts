import type { V1Node } from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CloudError, KubeError } from "../../../../controller/diagnostics/errors.ts";
import type { Write } from "../../../../controller/publish/writes.ts";
import { SHUTDOWN_TAINT } from "../../../../controller/render/node/lifecycle.ts";
import type { NodePatch } from "../../../../controller/render/node/patch.ts";
import type { RobotState } from "../../../../controller/robot/api.ts";
import { LifecycleTurn } from "../../../../controller/turns/lifecycle.ts";
import { aNode, aServer } from "../../../support/builders.ts";
import { aCloud } from "../../../support/fake-cloud.ts";
import { aLog } from "../../../support/log.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

const PERIOD = 5_000;

function aTurn(...nodes: V1Node[]) {
  const cloud = aCloud({ servers: [aServer({ id: 1 }), aServer({ id: 2 })] });
  const done: (string | [string, NodePatch])[] = [];
  const writes: Write[] = [];
  const { log, lines } = aLog();
  const world: {
    nodes: V1Node[];
    failure?: Error;
    patchFailure?: Error;
    isChanged?: boolean;
    robots: Map<number, RobotState>;
  } = { nodes, robots: new Map() };
  const turn = new LifecycleTurn({
    nodes: () => world.nodes,
    view: cloud.view,
    robotState: async (number) => {
      const state = world.robots.get(number);
      if (!state) throw new Error("Robot is away");
      return state;
    },
    patcher: {
      patchNode: async (node, patch) => {
        const failure = world.failure ?? world.patchFailure;
        if (failure) throw failure;
        done.push([node.metadata?.name ?? "", patch]);
      },
      deleteNode: async (node) => {
        if (world.failure) throw world.failure;
        if (!world.isChanged) done.push(`delete ${node.metadata?.name}`);
        return !world.isChanged;
      },
    },
    publish: async (more) => void writes.push(...more),
    periodMs: PERIOD,
    log,
  });
  const events = () =>
    writes.map((write) => (write.kind === "event" ? `${write.event.reason}: ${write.event.message}` : ""));
  return { turn, cloud, done, events, lines, world };
}

describe("a turn for Nodes that are not Ready", () => {
  it("framework L18: deletes a Node whose server neither the list nor a direct read finds, after an Event", async () => {
    const { turn, cloud, done, events } = aTurn(aNode({ id: 1, ready: "True" }), aNode({ id: 9, ready: "False" }));
    await expect(turn.run()).resolves.toBe(PERIOD);
    expect(done).toEqual(["delete node-9"]);
    expect(events()).toEqual(["DeletingNode: Deleting node node-9 because it does not exist in the cloud provider"]);
    expect(cloud.reads).toEqual(["/servers?page=1&per_page=50&sort=id:asc", "/servers/9"]);
  });

  it("deletes it although another Node cannot be written to, and reports that failure", async () => {
    const tainted = aNode({ id: 1, ready: "True" });
    const { turn, done, world } = aTurn(
      { ...tainted, spec: { ...tainted.spec, taints: [SHUTDOWN_TAINT] } },
      aNode({ id: 9, ready: "False" }),
    );
    world.patchFailure = new KubeError("PATCH", 403, "denied by an admission webhook");
    await expect(turn.run()).rejects.toThrow("admission webhook");
    expect(done).toEqual(["delete node-9"]);
  });

  it("sends no request to the cloud while all Nodes are Ready", async () => {
    const { turn, cloud, done } = aTurn(aNode({ id: 1, ready: "True" }), aNode({ id: 9, ready: "True" }));
    await expect(turn.run()).resolves.toBeUndefined();
    expect([cloud.reads, done]).toEqual([[], []]);
  });

  it("HCCM Q1: reads one list for all Nodes, once per period", async () => {
    const { turn, cloud } = aTurn(aNode({ id: 1 }), aNode({ id: 2 }), aNode({ name: "node-2" }));
    await turn.run();
    await turn.run();
    expect(cloud.reads).toHaveLength(1);
    vi.advanceTimersByTime(PERIOD);
    await turn.run();
    expect(cloud.reads).toHaveLength(2);
  });

  it("reads a list of many pages less often, to spare the rate limit", async () => {
    const { turn, cloud } = aTurn(aNode({ id: 1 }));
    cloud.servers = Array.from({ length: 101 }, (_, index) => aServer({ id: index + 1 }));
    await expect(turn.run()).resolves.toBe(3 * PERIOD);
  });

  it("keeps a Node whose server exists, but cannot be understood", async () => {
    const { turn, cloud, done, lines } = aTurn(aNode({ id: 1, ready: "True" }), aNode({ id: 9, ready: "False" }));
    const odd = { ...aServer({ id: 9 }), private_net: [{ network: 1, ip: "" }] };
    cloud.servers = [...cloud.servers, odd];
    await turn.run();
    expect(done).toEqual([]);
    expect(lines).toMatchObject([{ level: "warn", node: "node-9", msg: "reading an unlisted server failed" }]);
  });

  it("framework L02, L10: changes nothing when the cloud cannot be read", async () => {
    const { turn, cloud, done, events } = aTurn(aNode({ id: 9 }), aNode({ name: "node-1" }));
    cloud.failure = new CloudError("GET /servers", 503, "unavailable", "down for maintenance");
    await expect(turn.run()).rejects.toThrow("down for maintenance");
    expect([done, events()]).toEqual([[], []]);
  });

  it.each([
    ["an outage", new CloudError("GET /servers/9", 503, "unavailable", "down")],
    ["another kind of 404", new CloudError("GET /servers/9", 404, "unknown", "no such page")],
    ["a refusal", new CloudError("GET /servers/9", 403, "forbidden", "no")],
  ])("framework L20: deletes no Node after %s at the direct read, and handles the others", async (_, failure) => {
    const { turn, cloud, done, lines } = aTurn(aNode({ id: 1 }), aNode({ id: 9 }));
    cloud.servers = [aServer({ id: 1, status: "off" })];
    await cloud.view.servers(PERIOD);
    cloud.failure = failure;
    await turn.run();
    expect(done).toEqual([["node-1", { taints: [SHUTDOWN_TAINT] }]]);
    expect(lines[0]).toMatchObject({ level: "warn", node: "node-9" });
  });

  it("framework L16: removes the taint of a Ready Node without a request to the cloud", async () => {
    const { turn, cloud, done } = aTurn(aNode({ id: 1, ready: "True", taints: [SHUTDOWN_TAINT] }));
    cloud.failure = new CloudError("GET /servers", 503, "unavailable", "down");
    await turn.run();
    expect(done).toEqual([["node-1", { taints: [] }]]);
  });

  it("removes it once, also while another Node is not Ready", async () => {
    const { turn, done } = aTurn(aNode({ id: 1, ready: "True", taints: [SHUTDOWN_TAINT] }), aNode({ id: 2 }));
    await turn.run();
    expect(done).toEqual([["node-1", { taints: [] }]]);
  });

  it("framework L19: reports when the API server refuses, and retries in the next turn", async () => {
    const { turn, done, events, world } = aTurn(aNode({ id: 1, ready: "True" }), aNode({ id: 9 }));
    world.failure = new KubeError("DELETE node-9", 403, "not allowed");
    await turn.run();
    expect(events().at(-1)).toBe("DeletingNodeFailed: Failed deleting node node-9: DELETE node-9: not allowed");
    delete world.failure;
    await turn.run();
    expect(done).toEqual(["delete node-9"]);
  });

  it("reports no failure when the Node was changed in the meantime and stays", async () => {
    const { turn, events, world, lines } = aTurn(aNode({ id: 1, ready: "True" }), aNode({ id: 9 }));
    world.isChanged = true;
    await turn.run();
    expect(events()).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  it("leaves a taint to the next turn when another client wrote the Node", async () => {
    const { turn, cloud, world } = aTurn(aNode({ id: 1 }));
    cloud.servers = [aServer({ id: 1, status: "off" })];
    world.failure = new KubeError("PATCH node-1", 409, "changed");
    await expect(turn.run()).resolves.toBe(PERIOD);
    world.failure = new KubeError("PATCH node-1", 403, "not allowed");
    await expect(turn.run()).rejects.toThrow("not allowed");
  });

  it("tries again after a period when another client wrote a Node that is Ready", async () => {
    const tainted = aNode({ id: 1, ready: "True" });
    const { turn, done, world } = aTurn({ ...tainted, spec: { ...tainted.spec, taints: [SHUTDOWN_TAINT] } });
    world.patchFailure = new KubeError("PATCH node-1", 409, "changed");
    await expect(turn.run()).resolves.toBe(PERIOD);
    delete world.patchFailure;
    await expect(turn.run()).resolves.toBeUndefined();
    expect(done).toEqual([["node-1", { taints: [] }]]);
  });

  it("keeps the Nodes, with an Event, when the project has none of their servers", async () => {
    const { turn, done, events } = aTurn(aNode({ id: 8 }), aNode({ id: 9 }));
    await turn.run();
    expect(done).toEqual([]);
    expect(events()).toEqual([
      expect.stringMatching(/^NodeDeletionHeldBack: Node node-8 is not deleted: .*HCLOUD_TOKEN/),
      expect.stringContaining("node-9"),
    ]);
  });

  it("HCCM N7: looks up dedicated servers one by one, without listing cloud servers", async () => {
    const robots = [5, 6, 7].map((number) => aNode({ name: `metal-${number}`, providerID: `hrobot://${number}` }));
    const { turn, cloud, done, world, lines } = aTurn(...robots);
    world.robots = new Map([
      [6, "off"],
      [7, "missing"],
    ]);
    await expect(turn.run()).resolves.toBe(PERIOD);
    expect(done).toEqual([["metal-6", { taints: [SHUTDOWN_TAINT] }], "delete metal-7"]);
    expect(lines[0]).toMatchObject({ level: "warn", node: "metal-5", error: "Robot is away" });
    expect(cloud.reads).toEqual([]);
  });

  describe("on dedicated servers", () => {
    const metal = (number: number, ready?: "True") =>
      aNode({ name: `metal-${number}`, providerID: `hrobot://${number}`, ...(ready && { ready }) });

    it("deletes none while Robot knows none of their servers: its user belongs to another account", async () => {
      const { turn, done, events, world } = aTurn(metal(5), metal(6, "True"));
      world.robots = new Map([
        [5, "missing"],
        [6, "missing"],
      ]);
      await expect(turn.run()).resolves.toBe(PERIOD);
      expect(done).toEqual([]);
      expect(events()).toEqual([
        expect.stringMatching(/^NodeDeletionHeldBack: Node metal-5 is not deleted: .* 2 Nodes' servers .*ROBOT_USER/),
      ]);
      world.robots.set(6, "running");
      await turn.run();
      expect(done).toEqual(["delete metal-5"]);
    });

    it("deletes none while only the missing one can be looked up", async () => {
      const { turn, done, world, lines } = aTurn(metal(5), metal(6, "True"));
      world.robots = new Map([[5, "missing"]]);
      await turn.run();
      expect(done).toEqual([]);
      expect(lines[0]).toMatchObject({ level: "warn", node: "metal-5", error: "Robot is away" });
    });

    it("deletes the only one", async () => {
      const { turn, done, world } = aTurn(metal(5));
      world.robots = new Map([[5, "missing"]]);
      await turn.run();
      expect(done).toEqual(["delete metal-5"]);
    });
  });
});
