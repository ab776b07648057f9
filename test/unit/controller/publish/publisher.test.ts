import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { KubeClient } from "../../../../controller/kube/client.ts";
import { EventRecorder } from "../../../../controller/kube/events.ts";
import { Patcher } from "../../../../controller/kube/write.ts";
import { Publisher } from "../../../../controller/publish/publisher.ts";
import type { Write } from "../../../../controller/publish/writes.ts";
import { aNode, aService, UID } from "../../../support/builders.ts";
import { type Received, reply, startServer, type TestServer } from "../../../support/http-server.ts";
import { aLog } from "../../../support/log.ts";

let api: TestServer;
let client: KubeClient;
let publisher: Publisher;
let lines: readonly Record<string, unknown>[];
let answer: (request: Received, response: ServerResponse) => void;

beforeEach(async () => {
  answer = ({ method }, response) => reply(response, method === "PATCH" ? CLAIMED : {});
  api = await startServer((request, response) => answer(request, response));
  client = new KubeClient({ server: new URL(api.url), credentials: async () => ({}) }, { timeoutMs: 2_000 });
  const kept = aLog();
  lines = kept.lines;
  publisher = new Publisher({
    patcher: new Patcher(client),
    recorder: new EventRecorder(client, kept.log),
    log: kept.log,
  });
});
afterEach(async () => {
  client.close();
  await api.stop();
});

/** The API server's answer to a successful claim of `aService()`. */
const CLAIMED = aService({ finalizers: [FINALIZER] });
const SERVICE = aService({ ingress: [{ ip: "1.1.1.1" }] });
const STATUS = "/api/v1/namespaces/default/services/web/status";
const requests = () => api.received.map(({ method, path }) => `${method} ${path}`);
const bodies = () => api.received.map(({ body }) => JSON.parse(body) as unknown);
const warning = (message: string, object = SERVICE): Write => ({
  kind: "event",
  event: { about: { kind: "Service", object }, type: "Warning", reason: "SyncLoadBalancerFailed", message },
});

describe("writes to a Service", () => {
  it("framework S50, S51: go to its status, by strategic merge, for this uid only", async () => {
    await publisher.publish([{ kind: "add-finalizer", service: SERVICE }]);
    expect(requests()).toEqual([`PATCH ${STATUS}`]);
    expect(api.received[0]?.headers["content-type"]).toBe("application/strategic-merge-patch+json");
    expect(bodies()).toEqual([{ metadata: { finalizers: [FINALIZER], uid: UID } }]);
  });

  it("publish addresses", async () => {
    await publisher.publish([{ kind: "ingress", service: SERVICE, ingress: [{ ip: "2.2.2.2", ipMode: "VIP" }] }]);
    expect(bodies()).toEqual([
      { metadata: { uid: UID }, status: { loadBalancer: { ingress: [{ ip: "2.2.2.2", ipMode: "VIP" }] } } },
    ]);
  });

  it("framework S04, S47: clear the status before the finalizer, with which the object may vanish", async () => {
    await publisher.publish([{ kind: "remove-finalizer", service: SERVICE }]);
    expect(bodies()).toEqual([
      { metadata: { uid: UID }, status: { loadBalancer: { ingress: null } } },
      { metadata: { uid: UID, "$deleteFromPrimitiveList/finalizers": [FINALIZER] } },
    ]);
  });

  it("leave an empty status alone", async () => {
    await publisher.publish([{ kind: "remove-finalizer", service: aService() }]);
    expect(api.received).toHaveLength(1);
  });

  it.each([404, 409])("framework S27: accept %d: the object no longer exists", async (status) => {
    const successor = { items: [aService({ uid: "other" })] };
    answer = ({ method }, response) => (method === "GET" ? reply(response, successor) : reply(response, {}, status));
    expect(await publisher.publish([{ kind: "remove-finalizer", service: SERVICE }])).toEqual([]);
    expect(lines).not.toContainEqual(expect.objectContaining({ msg: "write failed" }));
  });

  it("framework S26: fail with a conflict while the object is there, so that they are repeated", async () => {
    answer = ({ method }, response) =>
      method === "GET" ? reply(response, { items: [SERVICE] }) : reply(response, {}, 409);
    const write: Write = { kind: "ingress", service: SERVICE, ingress: [{ ip: "198.51.100.1" }] };
    expect(await publisher.publish([write])).toEqual([write]);
  });
});

it.each([403, 500])("a finalizer that cannot be removed is reported as such: status %d", async (status) => {
  answer = (_, response) => reply(response, {}, status);
  const write: Write = { kind: "remove-finalizer", service: aService() };
  expect(await publisher.publish([write])).toEqual([write]);
});

describe("a claim", () => {
  it.each([
    ["the object in the answer has the finalizer", CLAIMED, 200, true],
    ["the Service was deleted", {}, 404, false],
    ["it was replaced by another, or written to at the same time", {}, 409, false],
    ["it is being deleted: the API server refuses new finalizers", {}, 422, false],
    ["another Service answers", aService({ uid: "other", finalizers: [FINALIZER] }), 200, false],
    ["it is being deleted", aService({ isDeleted: true, finalizers: [FINALIZER] }), 200, false],
    ["something removed the finalizer again", aService({ finalizers: ["other"] }), 200, false],
    ["the answer has no metadata", {}, 200, false],
  ])("counts only on proof: %s (hardening 4)", async (_, object, status, isClaimed) => {
    answer = (__, response) => reply(response, object, status);
    const write: Write = { kind: "add-finalizer", service: SERVICE };
    expect(await publisher.publish([write])).toEqual(isClaimed ? [] : [write]);
  });
});

describe("failures", () => {
  it("framework S26: stop later writes to the same object, and no others", async () => {
    const other = aService({ name: "other", uid: "2", finalizers: [FINALIZER] });
    answer = ({ path }, response) => reply(response, other, path.includes("/web/") ? 500 : 200);
    const writes: readonly Write[] = [
      { kind: "add-finalizer", service: SERVICE },
      { kind: "ingress", service: SERVICE, ingress: [] },
      { kind: "add-finalizer", service: other },
    ];
    expect(await publisher.publish(writes), "those that were not made count as failed").toEqual(writes.slice(0, 2));
    expect(requests().toSorted()).toEqual([
      "PATCH /api/v1/namespaces/default/services/other/status",
      `PATCH ${STATUS}`,
    ]);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: "warn", write: "add-finalizer", object: "default/web" }),
    );
  });
});

describe("conditions", () => {
  it.each([
    [true, "False", "RouteCreated", "RouteController created a route"],
    [false, "True", "NoRouteCreated", "RouteController failed to create a route"],
  ])("framework 4.2: route exists %s is NetworkUnavailable %s", async (isAvailable, status, reason, message) => {
    await publisher.publish([{ kind: "network-condition", node: aNode({ id: 1 }), isAvailable }]);
    expect(requests()).toEqual(["PATCH /api/v1/nodes/node-1/status"]);
    expect(bodies()).toMatchObject([
      { status: { conditions: [{ type: "NetworkUnavailable", status, reason, message }] } },
    ]);
  });
});

describe("Events", () => {
  it("carry object, reason and the upstream controller's name", async () => {
    await publisher.publish([warning("it is wrong")]);
    expect(requests()).toEqual(["POST /api/v1/namespaces/default/events"]);
    expect(bodies()).toMatchObject([
      {
        metadata: { namespace: "default" },
        involvedObject: { apiVersion: "v1", kind: "Service", namespace: "default", name: "web", uid: UID },
        type: "Warning",
        reason: "SyncLoadBalancerFailed",
        message: "it is wrong",
        source: { component: "service-controller" },
        count: 1,
      },
    ]);
  });

  it.each([
    ["Synced", "cloud-node-controller"],
    ["FailedToCreateRoute", "route_controller"],
    ["DeletingNode", "cloud-node-lifecycle-controller"],
  ] as const)("framework 2: of nodes are kept in default, and name no namespace (%s)", async (reason, component) => {
    const about = { kind: "Node", object: aNode({ id: 1 }) } as const;
    await publisher.publish([{ kind: "event", event: { about, type: "Warning", reason, message: "x" } }]);
    expect(requests()).toEqual(["POST /api/v1/namespaces/default/events"]);
    expect(bodies()).toMatchObject([{ source: { component } }]);
    expect(bodies()[0]).not.toHaveProperty("involvedObject.namespace");
  });

  it("warn once, and again when the message changes", async () => {
    for (const message of ["a", "a", "b"]) await publisher.publish([warning(message)]);
    expect(api.received).toHaveLength(2);
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(2);
  });

  it("count a warning that comes back after another one", async () => {
    for (const message of ["a", "b", "a"]) await publisher.publish([warning(message)]);
    expect(bodies()).toMatchObject([{ message: "a" }, { message: "b" }, { count: 2 }]);
  });

  it("framework R33: warn again of a route that fails as before, if it existed in between", async () => {
    const node = aNode({ id: 1 });
    const about = { kind: "Node", object: node } as const;
    const failure = { about, type: "Warning", reason: "FailedToCreateRoute", message: "no" } as const;
    const failed = [
      { kind: "network-condition", node, isAvailable: false } as const,
      { kind: "event", event: failure } as const,
    ];
    await publisher.publish(failed);
    await publisher.publish(failed);
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    await publisher.publish([{ kind: "network-condition", node, isAvailable: true }]);
    await publisher.publish(failed);
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(2);
  });

  it("report mistakes once, and again when the Service is changed, whatever runs report in between", async () => {
    const about = { kind: "Service", object: SERVICE } as const;
    const reason = "SyncLoadBalancerFailed";
    const mistake = (occasion: string): Write => ({
      kind: "event",
      event: { about, type: "Warning", reason, message: "wrong", occasion },
    });
    const failed: Write = { kind: "event", event: { about, type: "Warning", reason, message: "run failed" } };
    const ensured: Write = {
      kind: "event",
      event: { about, type: "Normal", reason: "EnsuredLoadBalancer", message: "fine" },
    };
    for (const write of [mistake("1"), failed, mistake("1"), failed, ensured, mistake("1"), mistake("2")]) {
      await publisher.publish([write]);
    }
    const said = bodies().map((body) => (body as { message?: string; count?: number }).message ?? "again");
    expect(said).toEqual(["wrong", "run failed", "fine", "again"]);
  });

  it("warn again of what fails as before, if it succeeded in between", async () => {
    const about = { kind: "Service", object: SERVICE } as const;
    const reason = "EnsuredLoadBalancer";
    const ensured: Write = { kind: "event", event: { about, type: "Normal", reason, message: "fine" } };
    for (const write of [warning("no"), warning("no"), ensured, warning("no")]) await publisher.publish([write]);
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(2);
  });

  it("count repetitions, and are written again when the first has expired", async () => {
    const event = {
      about: { kind: "Service", object: SERVICE },
      type: "Normal",
      reason: "EnsuredLoadBalancer",
      message: "x",
    } as const;
    await publisher.publish([{ kind: "event", event }]);
    await publisher.publish([{ kind: "event", event }]);
    answer = ({ method }, response) => reply(response, {}, method === "PATCH" ? 404 : 200);
    await publisher.publish([{ kind: "event", event }]);
    expect(api.received.map(({ method }) => method)).toEqual(["POST", "PATCH", "PATCH", "POST"]);
    expect(bodies()[1]).toMatchObject({ count: 2 });
  });

  it("warn once each, however many objects there are, and a limited number at a time (hardening: event flood)", async () => {
    const many = Array.from({ length: 5_100 }, (_, index) => aService({ name: `s${index}`, uid: `${index}` }));
    const counts = { inFlight: 0, most: 0, all: 0 };
    answer = (_, response) => {
      counts.most = Math.max(counts.most, ++counts.inFlight);
      counts.all += 1;
      setImmediate(() => {
        counts.inFlight -= 1;
        reply(response, {});
      });
    };
    for (const _ of [1, 2]) await publisher.publish(many.map((service) => warning("wrong", service)));
    expect(counts.all).toBe(many.length);
    expect(counts.most).toBeLessThanOrEqual(32);
  }, 60_000);

  it("are truncated to what the API server accepts", async () => {
    await publisher.publish([warning("x".repeat(5_000))]);
    expect(bodies()).toMatchObject([{ message: "x".repeat(1_000) }]);
  });

  it("that cannot be written do not stop other writes", async () => {
    answer = ({ path }, response) => reply(response, {}, path.endsWith("/events") ? 500 : 200);
    await publisher.publish([warning("a"), { kind: "add-finalizer", service: SERVICE }]);
    expect(requests()).toEqual(["POST /api/v1/namespaces/default/events", `PATCH ${STATUS}`]);
  });
});

describe("a Node's patch", () => {
  it("HCCM N14, framework 1.3: writes ProviderID, labels and taints together, for this version, then the addresses", async () => {
    const addresses = [{ type: "Hostname", address: "a" }];
    await new Patcher(client).patchNode(aNode({ name: "a" }), {
      providerId: "hcloud://1",
      labels: { l: "1" },
      taints: [],
      addresses,
    });
    expect(requests()).toEqual(["PATCH /api/v1/nodes/a", "PATCH /api/v1/nodes/a/status"]);
    expect(bodies()).toEqual([
      {
        metadata: { uid: "uid-of-a", resourceVersion: "1", labels: { l: "1" } },
        spec: { providerID: "hcloud://1", taints: [] },
      },
      { metadata: { uid: "uid-of-a" }, status: { addresses } },
    ]);
  });

  it("names the Node's UID, and no version where no shared list is replaced", async () => {
    await new Patcher(client).patchNode(aNode({ name: "a" }), { labels: { l: "1" } });
    expect(bodies()).toEqual([{ metadata: { uid: "uid-of-a", labels: { l: "1" } }, spec: {} }]);
  });

  it.each([
    [{ providerId: "hcloud://1" }, "/api/v1/nodes/a", { spec: { providerID: "hcloud://1" } }],
    [{ annotations: { a: "1" } }, "/api/v1/nodes/a", { metadata: { annotations: { a: "1" } } }],
    [{ taints: [] }, "/api/v1/nodes/a", { spec: { taints: [] } }],
    [{ addresses: [] }, "/api/v1/nodes/a/status", { status: { addresses: [] } }],
  ])("is a single request for a single field: %j", async (patch, path, body) => {
    await new Patcher(client).patchNode(aNode({ name: "a" }), patch);
    expect(requests()).toEqual([`PATCH ${path}`]);
    expect(bodies()).toMatchObject([body]);
  });

  it("framework N29: leaves a conflict to the caller", async () => {
    answer = (_, response) => reply(response, {}, 409);
    await expect(new Patcher(client).patchNode(aNode({ name: "a" }), { taints: [] })).rejects.toMatchObject({
      status: 409,
    });
    expect(api.received).toHaveLength(1);
  });
});

describe("the deletion of a Node", () => {
  const gone = () => new Patcher(client).deleteNode(aNode({ name: "a" }));

  it("applies to the observed Node and version only", async () => {
    await expect(gone()).resolves.toBe(true);
    expect(requests()).toEqual(["DELETE /api/v1/nodes/a"]);
    expect(bodies()).toEqual([{ preconditions: { uid: "uid-of-a", resourceVersion: "1" } }]);
  });

  it.each([
    [404, true],
    [409, false],
  ])("that gets status %s leaves it deleted: %s", async (status, isGone) => {
    answer = (_, response) => reply(response, {}, status);
    await expect(gone()).resolves.toBe(isGone);
  });

  it("framework L19: fails when it is refused", async () => {
    answer = (_, response) => reply(response, { message: "not allowed" }, 403);
    await expect(gone()).rejects.toThrow("not allowed");
  });
});
