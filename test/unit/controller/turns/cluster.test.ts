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
/** A new balancer without a type is told about. */
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

/** A turn with an engine that does what `act` says, one outcome for all units; everything it is asked for is kept. */
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
  it("framework S63: claims, makes, looks again and publishes", async () => {
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

  it("goes on at once with a change that takes two runs, and tells of no failure in between", async () => {
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

  it("starts no engine for a cluster at rest, once the nodes are recorded", async () => {
    const { turn, cloud, requests } = aTurn({
      services: [aService({ finalizers: [FINALIZER], ingress: [{ ip: "198.51.100.1" }, { ip: "2001:db8:ffff::1" }] })],
    });
    cloud.balancers = [AS_WANTED];
    await turn.run();
    expect(requests).toMatchObject([{ units: [], removals: [], nodes: { "node-1": {} } }]);
    await turn.run();
    expect(requests).toHaveLength(1);
  });

  it("repairs what was changed by hand, naming that unit alone", async () => {
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

  it("removes the balancer of a Service that goes, and lets it go on proof only", async () => {
    const { turn, world, cloud, requests, writes, kinds } = aTurn({
      services: [aService({ isDeleted: true, finalizers: [FINALIZER] })],
    });
    cloud.balancers = [AS_WANTED];
    cloud.unlisted = [AS_WANTED]; // nobody asks: the run has said that it is gone
    world.act = () => REMOVED;
    await turn.run();
    expect(requests).toMatchObject([{ units: [], removals: [UNIT] }]);
    expect(kinds()).toEqual(["DeletingLoadBalancer", "SyncLoadBalancerFailed"]);
    writes.length = 0;
    cloud.balancers = [];
    await turn.run();
    expect(kinds()).toEqual(["remove-finalizer", "DeletedLoadBalancer"]);
  });

  it("does not let a Service go on the first list after a start: a creation may still be on its way", async () => {
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

  it("does not let a Service go when its balancer vanishes from the list: a list may lack what is there", async () => {
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

  it("lets a Service go at once when its balancer vanished and the API says that there is none", async () => {
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
    "does not let a Service go when its balancer vanishes from the list behind a removal that %s",
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

  it("does not believe an engine that says done when the cloud does not show it", async () => {
    const { turn, writes } = aTurn();
    await expect(turn.run()).resolves.toBeLessThanOrEqual(1_000);
    const messages = writes.flatMap((write) => (write.kind === "event" ? [write.event.message] : []));
    expect(messages.at(-1)).toMatch(
      "the run succeeded, but the Hetzner API does not show the change: algorithm, delete protection,",
    );
  });

  it("says what was changed outside when a unit drifts, and nothing of drift when the intent changed", async () => {
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

  it("HCCM S8: makes no balancer for a Service that it could not claim, and tries again soon", async () => {
    const { turn, world, requests } = aTurn();
    world.refuse = (writes) => writes.filter(({ kind }) => kind === "add-finalizer");
    await expect(turn.run()).resolves.toBe(1_000);
    expect(requests.flatMap(({ units }) => units)).toEqual([]);
    world.refuse = () => [];
    await turn.run();
    expect(requests.flatMap(({ units }) => units.map(unitOf))).toEqual([UNIT]);
  });

  it("unlike HCCM R7, framework S14, S56: tells of a failure, waits, and does not try the same again at once", async () => {
    const { turn, world, requests, kinds } = aTurn();
    world.act = () => FAILED;
    const againMs = await turn.run();
    expect(kinds()).toEqual(["add-finalizer", ...ENSURING, "SyncLoadBalancerFailed"]);
    expect(againMs).toBeGreaterThan(0);
    expect(againMs).toBeLessThanOrEqual(1_000);
    await turn.run();
    expect(requests.filter(({ units }) => units.length > 0)).toHaveLength(1);
  });

  it("tries at once when what failed has changed", async () => {
    const { turn, world, objects, requests } = aTurn();
    world.act = () => FAILED;
    await turn.run();
    objects.services = [aService({ annotations: { type: "lb21" } })];
    await turn.run();
    expect(requests.map(({ units }) => units.length)).toEqual([1, 1]);
  });

  it("closes the way to the API when the engine throws", async () => {
    const { turn, world, sessions } = aTurn();
    world.act = () => {
      throw new Error("the engine runs one request at a time");
    };
    await expect(turn.run()).rejects.toThrow("one request at a time");
    expect(sessions).toHaveLength(2);
  });

  it("serves the others when one Service is refused", async () => {
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

  it("refuses to believe in a cloud without servers under a cluster with nodes", async () => {
    const { turn, cloud, requests, writes } = aTurn();
    cloud.servers = [];
    cloud.balancers = [AS_WANTED];
    await expect(turn.run()).rejects.toThrow("HCLOUD_TOKEN");
    expect([requests, writes]).toEqual([[], []]);
  });

  it("asks again before it disbelieves a list that lacks Ready nodes, then tells them and changes nothing", async () => {
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

  it("looks again before it leaves out a node whose server is not in an older list", async () => {
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

/** A turn that only makes routes, and what it asks the engine for. */
function aRouteTurn(cloud: ReturnType<typeof aCloud>, nodes: () => ReturnType<typeof aNode>[]) {
  const requests: RunRequest[] = [];
  const told: string[] = [];
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
      told.push(...writes.flatMap((write) => (write.kind === "event" ? [write.event.reason] : [])));
      return [];
    },
    options: { ...OPTIONS, networkId: NETWORK_ID },
    report: (found) => facts.push(found),
    log,
  });
  return { turn, requests, lines, told, facts };
}

describe("routes in a turn", () => {
  it("unlike HCCM Q4: are made from what the servers have now, not from an older list", async () => {
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

  it("are held back by the guard when most would be removed, which is said in the log, in an Event and in a metric", async () => {
    const routes = Array.from({ length: 9 }, (_, index) => ({
      destination: `10.120.${index}.0/24`,
      gateway: "10.0.0.1",
    }));
    const cloud = aCloud({ servers: [aServer({ id: 1, privateIp: "10.0.0.1" })], network: aNetwork({ routes }) });
    const { turn, requests, lines, told, facts } = aRouteTurn(cloud, () => []);
    await turn.run();
    expect(told).toEqual(["RemovalsHeldBack"]);
    expect(facts).toEqual([{ planned: 0, drifted: [], held: 9, waiting: 0, hasRoutes: true }]);
    expect(requests.flatMap(({ removals }) => removals)).toEqual([]);
    expect(lines).toContainEqual(expect.objectContaining({ level: "error", msg: "removals held back by the guard" }));
  });
});

it("looks at the routes whenever it comes round by itself, and not at every call", async () => {
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

it("has the engine ready for the next run, once, with the credential that this will have", async () => {
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
