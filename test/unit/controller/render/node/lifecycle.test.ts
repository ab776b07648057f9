import { describe, expect, it } from "vitest";
import {
  decideLifecycle,
  decideLifecycles,
  decideRobotLifecycle,
  isReady,
  isSuspect,
  SHUTDOWN_TAINT,
  suspectRobot,
  type Witnesses,
} from "../../../../../controller/render/node/lifecycle.ts";
import { aNode, aServer } from "../../../../support/builders.ts";

const OTHER = { key: "example.com/other", effect: "NoExecute" };
const RUNNING = aServer({ id: 1 });
const OFF = aServer({ id: 1, status: "off" });
const GONE: Witnesses = new Map([[1, undefined]]);
const NOT_ASKED: Witnesses = new Map();

describe("a node that is not Ready", () => {
  it.each([
    ["framework L01, L11, L12: is deleted when its server is gone", aNode({ id: 1, ready: "False" }), "delete"],
    ["framework L04, L14: is deleted even when its state is unknown", aNode({ id: 1, ready: "Unknown" }), "delete"],
    ["framework L15: is deleted without a Ready condition", aNode({ id: 1 }), "delete"],
    [
      "framework L21: is deleted uninitialised, when kubelet set its providerID",
      aNode({ id: 1, taints: [OTHER] }),
      "delete",
    ],
    [
      "unlike HCCM N18, unlike framework L09: is kept without a ProviderID: it was never ours",
      aNode({ name: "node-1" }),
      "keep",
    ],
    ["HCCM N2: is kept with another provider's ProviderID", aNode({ providerID: "k3s://node-1" }), "keep"],
    ["is kept with a malformed ProviderID", aNode({ providerID: "hcloud://one" }), "keep"],
    ["HCCM N4: is kept on a dedicated server that cannot be looked up", aNode({ providerID: "hrobot://1" }), "keep"],
    ["is left alone when it is already being deleted", aNode({ id: 1, isDeleted: true }), "keep"],
  ])("%s", (_, node, kind) => {
    expect(decideLifecycle(node, [], GONE)).toEqual({ kind });
  });

  it("is deleted only after a direct read confirms what the list says", () => {
    expect(decideLifecycle(aNode({ id: 1, ready: "False" }), [], NOT_ASKED)).toEqual({ kind: "ask", serverId: 1 });
  });

  it("is kept when a direct read finds a server that the list lacks", () => {
    expect(decideLifecycle(aNode({ id: 1 }), [], new Map([[1, RUNNING]]))).toEqual({ kind: "keep" });
  });

  it.each(["False", "Unknown"] as const)(
    "framework L03, L05: is unchanged while its server is running (%s)",
    (ready) => {
      expect(decideLifecycle(aNode({ id: 1, ready }), [RUNNING], NOT_ASKED)).toEqual({ kind: "keep" });
    },
  );

  it.each([
    ["framework L07, HCCM K8: in the list", aNode({ id: 1 }), [OFF], NOT_ASKED],
    ["framework L08: found by name, without a ProviderID", aNode({ name: "node-1" }), [OFF], NOT_ASKED],
    ["in a direct read", aNode({ id: 1 }), [], new Map([[1, OFF]])],
  ])("gets the shutdown taint when its server is off: %s", (_, node, servers, witnesses) => {
    expect(decideLifecycle(node, servers, witnesses)).toEqual({ kind: "taint", taints: [SHUTDOWN_TAINT] });
  });

  it.each(["starting", "stopping", "initializing", "rebuilding", "migrating", "deleting", "unknown"])(
    "HCCM N7: is not shut down while its server is %s",
    (status) => {
      expect(decideLifecycle(aNode({ id: 1 }), [aServer({ id: 1, status })], NOT_ASKED)).toEqual({ kind: "keep" });
    },
  );

  it("gets the taint once, after its other taints", () => {
    const taints = [OTHER];
    expect(decideLifecycle(aNode({ id: 1, taints }), [OFF], NOT_ASKED)).toEqual({
      kind: "taint",
      taints: [OTHER, SHUTDOWN_TAINT],
    });
    const tainted = aNode({ id: 1, taints: [{ ...SHUTDOWN_TAINT, value: "x" }] });
    expect(decideLifecycle(tainted, [OFF], NOT_ASKED)).toEqual({ kind: "keep" });
  });

  it("framework L17: keeps the taint until it is Ready, even if its server is running again", () => {
    const node = aNode({ id: 1, taints: [SHUTDOWN_TAINT], ready: "False" });
    expect(decideLifecycle(node, [RUNNING], NOT_ASKED)).toEqual({ kind: "keep" });
  });
});

describe("a Ready node", () => {
  it.each([
    ["framework L06: is gone", [], GONE],
    ["framework L13: is off", [OFF], NOT_ASKED],
  ])("is unchanged although its server %s", (_, servers, witnesses) => {
    expect(decideLifecycle(aNode({ id: 1, ready: "True" }), servers, witnesses)).toEqual({ kind: "keep" });
  });

  it("framework L16: loses the shutdown taint and no other", () => {
    const other = { ...SHUTDOWN_TAINT, effect: "NoExecute" };
    const node = aNode({ id: 1, taints: [OTHER, SHUTDOWN_TAINT, other], ready: "True" });
    expect(decideLifecycle(node, [], NOT_ASKED)).toEqual({ kind: "taint", taints: [OTHER, other] });
  });
});

describe("several nodes", () => {
  const gone = (...ids: number[]): Witnesses => new Map(ids.map((id) => [id, undefined]));
  const kinds = (nodes: readonly Parameters<typeof aNode>[0][], ids: readonly number[], witnesses: Witnesses) =>
    decideLifecycles(
      nodes.map((node) => aNode(node)),
      ids.map((id) => aServer({ id })),
      witnesses,
    ).map(({ verdict }) => verdict.kind);

  it("framework L20: are judged one by one, including those whose direct read failed", () => {
    expect(kinds([{ id: 1 }, { id: 2 }, { id: 3 }], [3], gone(1))).toEqual(["delete", "ask", "keep"]);
  });

  it("are all kept when the project has none of their servers: the token is for another project", () => {
    expect(kinds([{ id: 1 }, { id: 2, ready: "True" }], [7, 8], gone(1, 2))).toEqual(["hold", "keep"]);
  });

  it("are counted without other providers' nodes", () => {
    expect(kinds([{ id: 1 }, { providerID: "k3s://a" }], [], gone(1))).toEqual(["delete", "keep"]);
  });
});

it("is Ready only by the condition of that name", () => {
  expect(isReady(aNode({ ready: "True" }))).toBe(true);
  expect(isReady(aNode({ conditions: [{ type: "MemoryPressure", status: "True" }] }))).toBe(false);
});

it("suspects only nodes that may be ours and are not Ready", () => {
  expect(isSuspect(aNode({ id: 1 }))).toBe(true);
  expect(isSuspect(aNode({ id: 1, ready: "True" }))).toBe(false);
  expect(isSuspect(aNode({ providerID: "aws:///a/b" }))).toBe(false);
});

describe("a node on a dedicated server", () => {
  const node = aNode({ providerID: "hrobot://5", ready: "False" });
  it.each([
    ["missing", { kind: "delete" }],
    ["off", { kind: "taint", taints: [SHUTDOWN_TAINT] }],
    ["running", { kind: "keep" }],
  ] as const)("HCCM N7: whose server is %s", (state, expected) => {
    expect(decideRobotLifecycle(node, state)).toEqual(expected);
  });

  it.each([
    ["not Ready", node, 5],
    ["in the legacy format", aNode({ providerID: "hcloud://bm-6" }), 6],
    ["Ready", aNode({ providerID: "hrobot://5", ready: "True" }), undefined],
    ["leaving", aNode({ providerID: "hrobot://5", isDeleted: true }), undefined],
    ["a cloud server's", aNode({ id: 5 }), undefined],
  ])("is looked up when it is %s: %3$s", (_, suspect, number) => {
    expect(suspectRobot(suspect)).toBe(number);
  });
});
