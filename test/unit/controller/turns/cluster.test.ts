import { describe, expect, it, vi } from "vitest";
import { Absence } from "../../../../controller/apply/absence.ts";
import { Runner, type RunnerParts } from "../../../../controller/apply/runner.ts";
import { CloudError } from "../../../../controller/diagnostics/errors.ts";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { GUARD_LIMITS } from "../../../../controller/guard/guard.ts";
import type { Write } from "../../../../controller/publish/writes.ts";
import type { Rendered } from "../../../../controller/render/cluster.ts";
import { ClusterTurn, type ClusterTurnParts, type TurnFacts } from "../../../../controller/turns/cluster.ts";
import type { RunRequest, Step, UnitOutcome } from "../../../../stacks/engine/run.ts";
import { loadBalancerUnit, unitOf } from "../../../../stacks/units/names.ts";
import {
  aBalancer,
  aBalancerService,
  aNetwork,
  aNode,
  aRenderOptions,
  aServer,
  aServerTarget,
  aService,
  NETWORK_ID,
  UID,
} from "../../../support/builders.ts";
import { aCloud, type FakeCloud } from "../../../support/fake-cloud.ts";
import { aLog } from "../../../support/log.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const OPTIONS = aRenderOptions({ clusterCidrs: ["10.120.0.0/16"] });
const AS_WANTED = aBalancer({
  name: "a0c7e1a529d3b4f608a715b2e6f4d9c1",
  labels: { "hcloud-ccm/service-uid": UID },
  services: [aBalancerService(80)],
  targets: [aServerTarget(1)],
});
/** The Event about a new load balancer without a type. */
const ENSURING = ["LoadBalancerTypeUnconfigured", "EnsuringLoadBalancer"];
const FAILED: UnitOutcome = {
  status: "failed",
  changes: [],
  failure: { code: "conflict", message: "busy", retry: "soon" },
};

const REMOVED: UnitOutcome = {
  status: "applied",
  changes: [{ unit: UNIT, part: "balancer", operation: "delete", fields: [] }],
};

type Given = Pick<ClusterTurnParts, "observed" | "publish" | "options" | "report"> & Omit<RunnerParts, "context">;

function turnOf({ reader, view }: FakeCloud, given: Given): ClusterTurn {
  const { observed, options } = given;
  const absence = new Absence(reader);
  const context = async (rendered: Rendered) => {
    return { rendered, nodes: observed().nodes, servers: await view.servers(90_000), defaults: options.defaults };
  };
  const runner = new Runner({ ...given, context });
  return new ClusterTurn({ ...given, view, runner, absence, guardLimits: GUARD_LIMITS, resyncMs: 60_000 });
}

/** A turn with an engine that does what `act` says, with one outcome for all units, and keeps its requests. */
function aTurn(
  given: {
    services?: ReturnType<typeof aService>[];
    nodes?: ReturnType<typeof aNode>[];
    network?: ReturnType<typeof aNetwork>;
  } = {},
) {
  const { network } = given;
  const cloud = aCloud({ servers: [aServer({ id: 1 })], ...(network && { network }) });
  const objects = { services: given.services ?? [aService()], nodes: given.nodes ?? [aNode({ id: 1 })] };
  const requests: RunRequest[] = [];
  const writes: Write[] = [];
  const sessions: string[] = [];
  const { log, lines } = aLog();
  const world = {
    cloud,
    objects,
    requests,
    writes,
    sessions,
    lines,
    /** What the engine reports in every run. */
    steps: [] as readonly Step[],
    warmed: [] as string[],
    reserved: 0,
    act: (_: RunRequest): UnitOutcome => ({ status: "applied", changes: [] }),
    refuse: (_: readonly Write[]): readonly Write[] => [],
    kinds: () => writes.map((write) => (write.kind === "event" ? write.event.reason : write.kind)),
  };
  const run = async (request: RunRequest, onStep: (step: Step) => void = () => {}) => {
    requests.push(request);
    for (const step of world.steps) onStep(step);
    const outcome = world.act(request);
    const units = [...request.units.map(unitOf), ...request.removals];
    return { outcomes: Object.fromEntries(units.map((unit) => [unit, outcome])), durationMs: 1 };
  };
  const open = ({ run: name }: { readonly run: string }, { token } = { token: "credential" }) => {
    sessions.push(`open ${name}`);
    return { endpoint: "http://gateway", token, close: async () => void sessions.push(`close ${name}`) };
  };
  const turn = turnOf(cloud, {
    observed: () => objects,
    engine: { run, saveState: async () => {}, warm: async ({ token }) => void world.warmed.push(token) },
    gateway: { open, reserve: () => ({ endpoint: "http://gateway", token: `credential-${++world.reserved}` }) },
    publish: async (more) => {
      writes.push(...more);
      return world.refuse(more);
    },
    options: OPTIONS,
    log,
  });
  return { ...world, world, turn };
}

describe("a turn", () => {
  it("framework S63: sets the finalizer, creates, confirms and publishes", async () => {
    const { turn, world, cloud, requests, kinds, sessions } = aTurn();
    world.act = () => {
      cloud.balancers = [AS_WANTED];
      return { status: "applied", changes: [] };
    };
    await expect(turn.run()).resolves.toBeUndefined();
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      mode: "apply",
      units: [{ kind: "load-balancer", targets: [{ serverId: 1 }] }],
      removals: [],
      nodes: { "node-1": { providerId: "hcloud://1" } },
      access: { endpoint: "http://gateway", token: "credential" },
    });
    expect(kinds()).toEqual(["add-finalizer", ...ENSURING, "ingress", "EnsuredLoadBalancer"]);
    expect(sessions.map((text) => text.split(" ")[0])).toEqual(["open", "close"]);
  });

  it("continues at once with a change that takes two runs, and reports no failure in between", async () => {
    const claimed = aService({ ports: [2], finalizers: [FINALIZER] });
    const { turn, world, cloud, requests, kinds } = aTurn({ services: [claimed] });
    cloud.catalogue = {
      types: [{ name: "lb11", max_services: 1, max_targets: 25 }],
      locations: [{ name: "fsn1", network_zone: "eu-central" }],
    };
    cloud.balancers = [{ ...AS_WANTED, services: [aBalancerService(1)] }];
    world.act = ({ units }) => {
      const [unit] = units;
      const ports = unit?.kind === "load-balancer" ? unit.listeners.map(({ listenPort }) => listenPort) : [];
      cloud.balancers = [{ ...AS_WANTED, services: ports.map((port) => aBalancerService(port)) }];
      return { status: "applied", changes: [] };
    };
    await expect(turn.run()).resolves.toBe(0);
    await expect(turn.run()).resolves.toBeUndefined();
    const listened = requests.map(({ units: [unit] }) => unit?.kind === "load-balancer" && unit.listeners.length);
    expect(listened).toEqual([0, 1]);
    expect(kinds()).not.toContain("SyncLoadBalancerFailed");
    expect(kinds()).toContain("EnsuredLoadBalancer");
  });

  it("starts no run for a cluster at rest, once the Nodes are recorded", async () => {
    const { turn, cloud, requests } = aTurn({
      services: [aService({ finalizers: [FINALIZER], ingress: [{ ip: "198.51.100.1" }, { ip: "2001:db8:ffff::1" }] })],
    });
    cloud.balancers = [AS_WANTED];
    await turn.run();
    expect(requests).toMatchObject([{ units: [], removals: [], nodes: { "node-1": {} } }]);
    await turn.run();
    expect(requests).toHaveLength(1);
  });

  it("repairs what was changed by hand, and only that unit", async () => {
    const other = aService({ name: "other", uid: "1" });
    const { turn, cloud, requests } = aTurn({ services: [aService(), other] });
    cloud.balancers = [
      { ...AS_WANTED, algorithm: { type: "least_connections" } },
      { ...AS_WANTED, id: 43, name: "a1", labels: { "hcloud-ccm/service-uid": "1" } },
    ];
    await turn.run();
    expect(requests.map(({ units }) => units.map(unitOf))).toEqual([[UNIT]]);
    expect(requests[0]?.existing[UNIT]).toMatchObject({ id: 42, algorithm: "least_connections" });
  });

  it("removes a deleted Service's load balancer, and the finalizer only on proof", async () => {
    const { turn, world, cloud, requests, writes, kinds } = aTurn({
      services: [aService({ isDeleted: true, finalizers: [FINALIZER] })],
    });
    cloud.balancers = [AS_WANTED];
    cloud.unlisted = [AS_WANTED]; // not read: the run has deleted it
    world.act = () => REMOVED;
    await turn.run();
    expect(requests).toMatchObject([{ units: [], removals: [UNIT] }]);
    expect(kinds()).toEqual(["DeletingLoadBalancer", "SyncLoadBalancerFailed"]);
    writes.length = 0;
    cloud.balancers = [];
    await turn.run();
    expect(kinds()).toEqual(["remove-finalizer", "DeletedLoadBalancer"]);
  });

  it("keeps the finalizer on the first list after a start: a creation may still be in progress", async () => {
    const { turn, world, cloud, requests, kinds } = aTurn({
      services: [aService({ isDeleted: true, finalizers: [FINALIZER] })],
    });
    world.act = () => REMOVED;
    const againMs = await turn.run();
    expect(kinds()).toEqual([]);
    expect(againMs).toBeGreaterThan(25_000);
    expect(againMs).toBeLessThanOrEqual(30_000);
    cloud.balancers = [AS_WANTED];
    await turn.run();
    expect(requests.flatMap(({ removals }) => removals)).toEqual([UNIT]);
    cloud.balancers = [];
    await turn.run();
    expect(kinds().slice(-2)).toEqual(["remove-finalizer", "DeletedLoadBalancer"]);
  });

  it("keeps the finalizer when the load balancer vanishes from the list: a list may be incomplete", async () => {
    const { turn, cloud, objects, requests, kinds, lines } = aTurn();
    cloud.balancers = [AS_WANTED];
    await turn.run();
    objects.services = [aService({ isDeleted: true, finalizers: [FINALIZER] })];
    [cloud.balancers, cloud.unlisted] = [[], [AS_WANTED]];
    const againMs = await turn.run();
    expect(kinds()).not.toContain("remove-finalizer");
    expect(lines).toContainEqual(expect.objectContaining({ level: "warn", service: "default/web" }));
    expect(againMs).toBeGreaterThan(25_000);
    expect(againMs).toBeLessThanOrEqual(30_000);
    [cloud.balancers, cloud.unlisted] = [[AS_WANTED], []];
    await turn.run();
    expect(requests.flatMap(({ removals }) => removals)).toEqual([UNIT]);
  });

  it("removes the finalizer at once when the load balancer vanished and a direct read finds none", async () => {
    const { turn, cloud, objects, kinds } = aTurn();
    cloud.balancers = [AS_WANTED];
    await turn.run();
    objects.services = [aService({ isDeleted: true, finalizers: [FINALIZER] })];
    cloud.balancers = [];
    await turn.run();
    expect(kinds().slice(-2)).toEqual(["remove-finalizer", "DeletedLoadBalancer"]);
    expect(cloud.reads.filter((path) => path === "/load_balancers/42")).toHaveLength(1);
  });

  it.each([
    ["failed", FAILED],
    ["did nothing to it", { status: "applied", changes: [] } as const],
  ])(
    "keeps the finalizer when the load balancer vanishes from the list after a removal that %s",
    async (_, outcome) => {
      const { turn, world, cloud, kinds } = aTurn({
        services: [aService({ isDeleted: true, finalizers: [FINALIZER] })],
      });
      cloud.balancers = [AS_WANTED];
      world.act = () => {
        [cloud.balancers, cloud.unlisted] = [[], [AS_WANTED]];
        return outcome;
      };
      await turn.run();
      expect(kinds()).toEqual(["DeletingLoadBalancer"]);
      [cloud.balancers, cloud.unlisted] = [[AS_WANTED], []];
      world.act = () => {
        cloud.balancers = [];
        return REMOVED;
      };
      await turn.run();
      expect(kinds().slice(-2)).toEqual(["remove-finalizer", "DeletedLoadBalancer"]);
    },
  );

  it("does not trust an engine that reports success when the cloud does not show the change", async () => {
    const { turn, writes } = aTurn();
    await expect(turn.run()).resolves.toBeLessThanOrEqual(1_000);
    const messages = writes.flatMap((write) => (write.kind === "event" ? [write.event.message] : []));
    expect(messages.at(-1)).toMatch(
      "the run succeeded, but the Hetzner API does not show the change: algorithm, delete protection,",
    );
  });

  it("reports drift with what was changed, and none when the Service itself changed", async () => {
    const { turn, world, cloud, objects, writes } = aTurn();
    const repair = (balancer: typeof AS_WANTED) => {
      world.act = () => {
        cloud.balancers = [balancer];
        return { status: "applied", changes: [] };
      };
    };
    repair(AS_WANTED);
    await turn.run();
    await turn.run();
    writes.length = 0;
    cloud.balancers = [{ ...AS_WANTED, algorithm: { type: "least_connections" }, targets: [] }];
    await turn.run();
    expect(writes.map((write) => (write.kind === "event" ? write.event.message : write.kind))).toContain(
      "Load balancer was changed outside the cluster and is being repaired: algorithm was changed to least_connections, target server-1 was removed",
    );
    writes.length = 0;
    await turn.run();
    objects.services = [aService({ annotations: { "algorithm-type": "least_connections" } })];
    repair({ ...AS_WANTED, algorithm: { type: "least_connections" } });
    await turn.run();
    const reasons = writes.flatMap((write) => (write.kind === "event" ? [write.event.reason] : []));
    expect(reasons).toEqual(["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
  });

  it("HCCM S8: creates no load balancer for a Service whose finalizer could not be set, and retries soon", async () => {
    const { turn, world, requests } = aTurn();
    world.refuse = (writes) => writes.filter(({ kind }) => kind === "add-finalizer");
    await expect(turn.run()).resolves.toBe(1_000);
    expect(requests.flatMap(({ units }) => units)).toEqual([]);
    world.refuse = () => [];
    await turn.run();
    expect(requests.flatMap(({ units }) => units.map(unitOf))).toEqual([UNIT]);
  });

  it("unlike HCCM R7, framework S14, S56: reports a failure and backs off before it retries the same change", async () => {
    const { turn, world, requests, kinds } = aTurn();
    world.act = () => FAILED;
    const againMs = await turn.run();
    expect(kinds()).toEqual(["add-finalizer", ...ENSURING, "SyncLoadBalancerFailed"]);
    expect(againMs).toBeGreaterThan(0);
    expect(againMs).toBeLessThanOrEqual(1_000);
    await turn.run();
    expect(requests.filter(({ units }) => units.length > 0)).toHaveLength(1);
  });

  it("retries at once when the failed change has changed", async () => {
    const { turn, world, objects, requests } = aTurn();
    world.act = () => FAILED;
    await turn.run();
    objects.services = [aService({ annotations: { type: "lb21" } })];
    await turn.run();
    expect(requests.map(({ units }) => units.length)).toEqual([1, 1]);
  });

  it("closes the gateway when the engine throws", async () => {
    const { turn, world, sessions } = aTurn();
    world.act = () => {
      throw new Error("the engine runs one request at a time");
    };
    await expect(turn.run()).rejects.toThrow("one request at a time");
    expect(sessions).toHaveLength(2);
  });

  it("handles the other Services when one is refused", async () => {
    const wrong = aService({ name: "wrong", uid: "1", annotations: { protocol: "x" } });
    const { turn, world, requests, kinds } = aTurn({ services: [wrong, aService()] });
    world.act = () => {
      world.cloud.balancers = [AS_WANTED];
      return { status: "applied", changes: [] };
    };
    await turn.run();
    expect(requests.map(({ units }) => units.map(unitOf))).toEqual([[UNIT]]);
    expect(kinds()).toEqual(["SyncLoadBalancerFailed", "add-finalizer", ...ENSURING, "ingress", "EnsuredLoadBalancer"]);
  });

  it("does nothing at all when the cloud cannot be read (framework R34)", async () => {
    const { turn, cloud, requests, writes } = aTurn();
    cloud.failure = new CloudError("GET /servers", 503, "unavailable", "down");
    await expect(turn.run()).rejects.toThrow("down");
    expect([requests, writes]).toEqual([[], []]);
  });

  it("rejects a list without servers when the cluster has Nodes", async () => {
    const { turn, cloud, requests, writes } = aTurn();
    cloud.servers = [];
    cloud.balancers = [AS_WANTED];
    await expect(turn.run()).rejects.toThrow("HCLOUD_TOKEN");
    expect([requests, writes]).toEqual([[], []]);
  });

  it("reads again a list that lacks Ready Nodes' servers, then writes Events and changes nothing", async () => {
    const ready = [1, 2, 3].map((id) => aNode({ id, ready: "True" }));
    const { turn, cloud, requests, kinds } = aTurn({ nodes: ready });
    await expect(turn.run()).rejects.toMatchObject({ code: "implausible-cloud" });
    expect(requests).toEqual([]);
    expect(kinds()).toEqual(["ServerNotListed", "ServerNotListed"]);
    expect(cloud.reads.filter((path) => path.startsWith("/servers?"))).toHaveLength(2);
    cloud.servers = [1, 2, 3].map((id) => aServer({ id }));
    await turn.run();
    expect(requests).toHaveLength(1);
  });

  it("logs one line for each change, with the object, the run and the reason", async () => {
    const { turn, cloud, world, lines } = aTurn();
    world.steps = [{ unit: UNIT, part: "balancer", operation: "create", fields: [], phase: "done" }];
    await turn.run();
    const changed = { level: "info", object: "Service default/web", unit: UNIT, part: "balancer", operation: "create" };
    const run = expect.stringMatching(/-1$/);
    const changes = () => lines.filter(({ msg }) => msg === "cloud changed");
    const reason = "Service default/web is of type LoadBalancer";
    expect(changes()).toEqual([{ ...changed, run, reason, msg: "cloud changed" }]);
    cloud.balancers = [AS_WANTED];
    await turn.run();
    cloud.balancers = [{ ...AS_WANTED, algorithm: { type: "least_connections" } }];
    await turn.run();
    expect(changes().at(-1)).toMatchObject({ reason: "it was changed outside the cluster" });
  });

  it("reads a fresh list before it leaves out a Node whose server is not in an older one", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const { turn, cloud, objects, requests } = aTurn();
      await turn.run();
      cloud.servers = [aServer({ id: 1 }), aServer({ id: 2 })];
      objects.nodes = [aNode({ id: 1 }), aNode({ id: 2 })];
      vi.advanceTimersByTime(10_000);
      await turn.run();
      expect(requests.at(-1)?.units).toMatchObject([{ targets: [{ serverId: 1 }, { serverId: 2 }] }]);
    } finally {
      vi.useRealTimers();
    }
  });
});

/** A turn that only creates routes, and its requests to the engine. */
function aRouteTurn(cloud: ReturnType<typeof aCloud>, nodes: () => ReturnType<typeof aNode>[]) {
  const requests: RunRequest[] = [];
  const reported: string[] = [];
  const facts: TurnFacts[] = [];
  const { log, lines } = aLog();
  const turn = turnOf(cloud, {
    observed: () => ({ services: [aService({ name: "kubernetes", type: "ClusterIP" })], nodes: nodes() }),
    engine: {
      run: async (request) => {
        requests.push(request);
        return { outcomes: {}, durationMs: 1 };
      },
      saveState: async () => {},
      warm: async () => {},
    },
    gateway: {
      open: () => ({ endpoint: "", token: "", close: async () => {} }),
      reserve: () => ({ endpoint: "", token: "" }),
    },
    publish: async (writes) => {
      reported.push(...writes.flatMap((write) => (write.kind === "event" ? [write.event.reason] : [])));
      return [];
    },
    options: { ...OPTIONS, networkId: NETWORK_ID },
    report: (found) => facts.push(found),
    log,
  });
  return { turn, requests, lines, reported, facts };
}

describe("routes in a turn", () => {
  it("unlike HCCM Q4: are created from a fresh list of servers, not from an older one", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const cloud = aCloud({ servers: [aServer({ id: 1, privateIp: "10.0.0.1" })], network: aNetwork() });
      let nodes = [aNode({ id: 1 })];
      const { turn, requests } = aRouteTurn(cloud, () => nodes);
      await turn.run();
      cloud.servers = [aServer({ id: 1, privateIp: "10.0.0.9" })];
      nodes = [aNode({ id: 1, podCIDRs: ["10.120.1.0/24"] })];
      vi.advanceTimersByTime(10_000);
      await turn.run();
      expect(requests.at(-1)?.units).toMatchObject([{ destination: "10.120.1.0/24", gateway: "10.0.0.9" }]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("are held back by the guard when most would be removed, with a log message, an Event and a metric", async () => {
    const routes = Array.from({ length: 9 }, (_, index) => ({
      destination: `10.120.${index}.0/24`,
      gateway: "10.0.0.1",
    }));
    const cloud = aCloud({ servers: [aServer({ id: 1, privateIp: "10.0.0.1" })], network: aNetwork({ routes }) });
    const { turn, requests, lines, reported, facts } = aRouteTurn(cloud, () => []);
    await turn.run();
    expect(reported).toEqual(["RemovalsHeldBack"]);
    expect(facts).toEqual([{ planned: 0, drifted: [], held: 9, waiting: 0, hasRoutes: true }]);
    expect(requests.flatMap(({ removals }) => removals)).toEqual([]);
    expect(lines).toContainEqual(expect.objectContaining({ level: "error", msg: "removals held back by the guard" }));
  });
});

it("reads the routes in every resync, and not at every wake-up", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const { turn, cloud } = aTurn({ services: [], nodes: [], network: aNetwork() });
    const reads = () => cloud.reads.filter((path) => path.startsWith("/networks/")).length;
    await turn.run();
    const first = reads();
    vi.advanceTimersByTime(29_000);
    await turn.run();
    expect(reads() - first).toBe(0);
    vi.advanceTimersByTime(1_000); // half of the interval: the soonest that a turn comes round
    await turn.run();
    expect(reads() - first).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

it("warms up the engine once for the next run, with that run's credential", async () => {
  const { turn, world, cloud, objects } = aTurn();
  await turn.run();
  await turn.run();
  expect(world.warmed).toEqual(["credential-1"]);
  cloud.balancers = [];
  objects.services = [aService({ name: "other", uid: "2" })];
  await turn.run();
  expect(world.requests.map(({ access }) => access.token)).toEqual(["credential", "credential-1"]);
  expect(world.warmed).toEqual(["credential-1", "credential-2"]);
});
