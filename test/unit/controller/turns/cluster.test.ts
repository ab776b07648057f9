import type { V1Service } from "@kubernetes/client-node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Absence } from "../../../../controller/apply/proof.ts";
import { Runner, type RunnerParts } from "../../../../controller/apply/runner.ts";
import { CloudError } from "../../../../controller/diagnostics/errors.ts";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { ApprovalGate, parsePending, withApprovals } from "../../../../controller/guard/approval.ts";
import { GUARD_LIMITS } from "../../../../controller/guard/guard.ts";
import { Pace } from "../../../../controller/guard/pace.ts";
import type { Plan } from "../../../../controller/guard/plan.ts";
import type { ApiError } from "../../../../controller/hcloud/exchange.ts";
import type { CloudView } from "../../../../controller/hcloud/reader.ts";
import type { Exchange, RunInfo } from "../../../../controller/hcloud/sender.ts";
import type { Write } from "../../../../controller/publish/writes.ts";
import type { AuditEntry } from "../../../../controller/record/entry.ts";
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
import { anIssuedCertificate } from "../../../support/certificates.ts";
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

/** Approvals that are never used up. */
const forget = () => {};

afterEach(() => vi.useRealTimers());
const stopClocks = () => vi.useFakeTimers({ toFake: ["performance", "Date"] });

type Given = Pick<ClusterTurnParts, "observed" | "publish" | "options" | "report" | "patcher" | "approvals"> &
  Omit<RunnerParts, "context">;

function turnOf({ reader, view }: FakeCloud, given: Given): ClusterTurn {
  const { observed, options } = given;
  const absence = new Absence(reader);
  const context = async (rendered: Rendered) => {
    return { rendered, nodes: observed().nodes, servers: await view.servers(90_000), defaults: options.defaults };
  };
  const runner = new Runner({ ...given, context });
  const pace = new Pace();
  // The turns of a test follow each other at once. Those of the controller do not, so that each reads its own list.
  const apart: Pick<CloudView, "state" | "server"> = {
    state: (ages) => view.state({ ...ages, loadBalancers: 0 }),
    server: (id) => view.server(id),
  };
  const gateway = { sinceWriteMs: () => 0 };
  const limits = { guardLimits: GUARD_LIMITS, resyncMs: 60_000 };
  return new ClusterTurn({ ...given, ...limits, gateway, view: apart, runner, absence, pace });
}

/** A turn with an engine that does what `act` says, with one outcome for all units, and keeps its requests. */
function aTurn(
  given: {
    services?: ReturnType<typeof aService>[];
    nodes?: ReturnType<typeof aNode>[];
    network?: ReturnType<typeof aNetwork>;
    approvals?: NonNullable<ClusterTurnParts["approvals"]>;
    options?: ClusterTurnParts["options"];
  } = {},
) {
  const { network, approvals, options = OPTIONS } = given;
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
    prepared: [] as string[],
    reserved: 0,
    act: (_: RunRequest): UnitOutcome => ({ status: "applied", changes: [] }),
    refuse: (_: readonly Write[]): readonly Write[] => [],
    /** What the API server answers about a Service that the watch no longer shows. */
    readService: async (_: V1Service): Promise<V1Service | undefined> => undefined,
    record: (_: readonly AuditEntry[]): void => {},
    /** Reports a request of the current run. */
    exchange: (_: Exchange): void => {},
    /** Says that the current run no longer waits for an action of the unit. */
    slow: (_unit: string, _ended: Promise<ApiError | undefined>): void => {},
    arrivals: 0,
    reports: [] as Parameters<NonNullable<RunnerParts["onReport"]>>[],
    kinds: () => writes.map((write) => (write.kind === "event" ? write.event.reason : write.kind)),
  };
  const run = async (request: RunRequest, onStep: (step: Step) => void = () => {}) => {
    requests.push(request);
    for (const step of world.steps) onStep(step);
    const outcome = world.act(request);
    const units = [...request.units.map(unitOf), ...request.removals];
    return { outcomes: Object.fromEntries(units.map((unit) => [unit, outcome])), durationMs: 1 };
  };
  const open = ({ run: name, onExchange, onSlow }: RunInfo, { token } = { token: "credential" }) => {
    Object.assign(world, onExchange && { exchange: onExchange }, onSlow && { slow: onSlow });
    sessions.push(`open ${name}`);
    return { endpoint: "http://gateway", token, close: async () => void sessions.push(`close ${name}`) };
  };
  const turn = turnOf(cloud, {
    observed: () => objects,
    engine: { run, prepare: ({ token }) => void world.prepared.push(token) },
    gateway: { open, reserve: () => ({ endpoint: "http://gateway", token: `credential-${++world.reserved}` }) },
    publish: async (more) => {
      writes.push(...more);
      return world.refuse(more);
    },
    patcher: { readService: (service) => world.readService(service) },
    record: { add: (entries) => world.record(entries) },
    onArrival: () => world.arrivals++,
    onReport: (...report) => void world.reports.push(report),
    options,
    ...(approvals && { approvals }),
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

  it("makes at once in the next turn what would be too much for one run", async () => {
    const ids = Array.from({ length: 110 }, (_, index) => index + 1);
    const services = ids.slice(0, 10).map((id) => aService({ name: `web-${id}`, uid: `uid-${id}` }));
    const { turn, cloud, requests } = aTurn({ services, nodes: ids.map((id) => aNode({ id })) });
    cloud.servers = ids.map((id) => aServer({ id }));
    await expect(turn.run()).resolves.toBe(0);
    await turn.run();
    expect(requests.map(({ units }) => units.length)).toEqual([8, 2]);
  });

  describe("with an action that outlasts its run", () => {
    const failed = { code: "under_way", message: "slow", retry: "soon" } as const;
    const start = async (given: Parameters<typeof aTurn>[0] = {}) => {
      const it = aTurn(given);
      const action = Promise.withResolvers<ApiError | undefined>();
      const outcomes: AuditEntry[] = [];
      it.world.record = (entries) => void outcomes.push(...entries.filter(({ kind }) => kind === "outcome"));
      it.world.act = ({ units: [unit] }) => {
        it.world.slow(unit ? unitOf(unit) : "", action.promise);
        return { status: "failed", changes: [], failure: failed };
      };
      await it.turn.run();
      it.world.act = () => ({ status: "applied", changes: [] });
      return { ...it, outcomes, end: (error?: ApiError) => action.resolve(error) };
    };

    it("reports no failure, plans nothing for the unit meanwhile, and publishes it when the action has ended", async () => {
      const { turn, world, cloud, requests, kinds, outcomes, end } = await start({
        services: [aService({ finalizers: [FINALIZER] })],
      });
      await turn.run();
      expect(requests).toHaveLength(1);
      expect([kinds(), outcomes]).toEqual([["add-finalizer", ...ENSURING], []]);
      end();
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      cloud.balancers = [AS_WANTED];
      await turn.run();
      expect(requests).toHaveLength(1);
      expect(kinds().slice(-2)).toEqual(["ingress", "EnsuredLoadBalancer"]);
      expect(outcomes).toMatchObject([{ status: "applied" }]);
      expect(world.reports.map(([{ outcomes: ended }, isLate]) => [Object.keys(ended).length, isLate])).toEqual([
        [0, false],
        [1, true],
      ]);
    });

    it("reports no failure either when the action ends before the run does", async () => {
      const { turn, world, kinds, requests } = aTurn();
      world.act = ({ units: [unit] }) => {
        world.slow(unit ? unitOf(unit) : "", Promise.resolve(undefined));
        return { status: "failed", changes: [], failure: failed };
      };
      await turn.run();
      expect(kinds()).not.toContain("SyncLoadBalancerFailed");
      await turn.run();
      expect(requests).toHaveLength(2);
    });

    it("plans nothing for the unit until the last of its actions has ended", async () => {
      const { turn, world, requests, end } = await start();
      const last = Promise.withResolvers<ApiError | undefined>();
      world.slow(UNIT, last.promise);
      end();
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      await turn.run();
      expect(requests).toHaveLength(1);
      last.resolve(undefined);
      await vi.waitFor(() => expect(world.arrivals).toBe(2));
      await turn.run();
      expect(requests).toHaveLength(2);
    });

    it("does not turn again at once for the unit that is under way, when others of its run are done", async () => {
      const services = [aService(), aService({ name: "other", uid: "2" })];
      const { turn, world, cloud } = aTurn({ services });
      world.act = () => {
        world.slow(UNIT, new Promise(() => {}));
        cloud.balancers = [{ ...AS_WANTED, name: "a2", labels: { "hcloud-ccm/service-uid": "2" } }];
        return { status: "applied", changes: [] };
      };
      await expect(turn.run()).resolves.toBeUndefined();
    });

    it("serves other Services meanwhile", async () => {
      const { turn, requests, objects } = await start();
      objects.services = [...objects.services, aService({ name: "other", uid: "2" })];
      await turn.run();
      expect(requests.map(({ units }) => units.map(unitOf))).toEqual([
        [expect.stringContaining("default/web")],
        [expect.stringContaining("default/other")],
      ]);
    });

    it("continues with what is left when the action has ended", async () => {
      const { turn, world, requests, end } = await start();
      end();
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      await turn.run();
      expect(requests).toHaveLength(2);
    });

    it("reports its failure when the action ends in an error, and backs off more each time", async () => {
      stopClocks();
      const { turn, world, requests, kinds, outcomes, end } = await start();
      const waits: (number | undefined)[] = [];
      const failure = { code: "action_failed", message: "could not change type" };
      end(failure);
      for (let round = 1; round <= 3; round += 1) {
        await vi.waitFor(() => expect(world.arrivals).toBe(round));
        const waitMs = await turn.run();
        waits.push(waitMs);
        expect([requests.length, outcomes.length]).toEqual([round, round]);
        world.act = ({ units: [unit] }) => {
          world.slow(unit ? unitOf(unit) : "", Promise.resolve(failure));
          return { status: "failed", changes: [], failure: failed };
        };
        vi.advanceTimersByTime(waitMs ?? 0);
        await turn.run();
      }
      expect(outcomes[0]).toMatchObject({ status: "failed", failure: "could not change type" });
      expect(kinds().filter((kind) => kind === "SyncLoadBalancerFailed")).toHaveLength(3);
      expect(waits).toEqual([5_000, 10_000, 20_000]);
    });

    it("counts earlier failures also if the action of the retry takes several turns to fail", async () => {
      stopClocks();
      const { turn, world, end } = await start();
      const failure = { code: "action_failed", message: "could not change type" };
      end(failure);
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      vi.advanceTimersByTime((await turn.run()) ?? 0);
      const retry = Promise.withResolvers<ApiError | undefined>();
      world.act = () => {
        world.slow(UNIT, retry.promise);
        return { status: "failed", changes: [], failure: failed };
      };
      expect([await turn.run(), await turn.run()]).toEqual([undefined, undefined]);
      retry.resolve(failure);
      await vi.waitFor(() => expect(world.arrivals).toBe(2));
      await expect(turn.run()).resolves.toBe(10_000);
    });

    it("reports no failure of an action after which everything is as wanted", async () => {
      const { turn, world, cloud, kinds, outcomes, end } = await start();
      cloud.balancers = [AS_WANTED];
      end({ code: "action_failed", message: "could not change type" });
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      await turn.run();
      expect(kinds().at(-1)).toBe("EnsuredLoadBalancer");
      expect(outcomes).toMatchObject([{ status: "applied" }]);
    });

    it("removes it when the action has ended, if its Service was deleted meanwhile, and the finalizer only then", async () => {
      const { turn, world, cloud, objects, requests, kinds, end } = await start();
      cloud.balancers = [AS_WANTED];
      objects.services = [aService({ isDeleted: true, finalizers: [FINALIZER] })];
      await turn.run();
      expect([requests.length, kinds().includes("remove-finalizer")]).toEqual([1, false]);
      end();
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      world.act = () => {
        cloud.balancers = [];
        return REMOVED;
      };
      await turn.run();
      expect(requests.at(-1)?.removals).toEqual([UNIT]);
      expect(kinds()).toContain("remove-finalizer");
    });

    it("is not charged with the failure of an earlier request: the removal runs at once, and reports none", async () => {
      const { turn, world, cloud, objects, requests, kinds, end } = await start();
      const recorded: AuditEntry[] = [];
      world.record = (entries) => void recorded.push(...entries.filter(({ kind }) => kind === "outcome"));
      cloud.balancers = [{ ...AS_WANTED, targets: [] }];
      objects.services = [aService({ isDeleted: true, finalizers: [FINALIZER] })];
      await turn.run();
      end({ code: "action_failed", message: "could not attach to network" });
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      world.act = () => {
        cloud.balancers = [];
        return REMOVED;
      };
      await turn.run();
      expect(requests.at(-1)?.removals).toEqual([UNIT]);
      expect(kinds()).toContain("remove-finalizer");
      expect(kinds()).not.toContain("SyncLoadBalancerFailed");
      const failed = { status: "failed", failure: "could not attach to network" };
      expect(recorded, "each request has its own outcome").toMatchObject([failed, { status: "applied" }]);
    });

    it("is not charged with the failure of an earlier request either while its own waits for approval", async () => {
      const nothing = { waiting: 0, announced: [], approved: [] };
      const approvals = { pass: vi.fn(async ({ plan }: { readonly plan: Plan }) => ({ ...nothing, plan })), forget };
      const { turn, world, objects, kinds, end } = await start({ approvals });
      approvals.pass.mockImplementation(async () => ({ ...nothing, plan: [], waiting: 1 }));
      objects.services = [aService({ annotations: { type: "lb21" } })];
      end({ code: "action_failed", message: "could not attach to network" });
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      await turn.run();
      expect(kinds()).not.toContain("SyncLoadBalancerFailed");
    });

    it("pauses until the action ends, if a retry outlasts its run and the lists fail after it", async () => {
      stopClocks();
      const { turn, world, cloud } = aTurn();
      world.act = () => FAILED;
      const waitMs = await turn.run();
      vi.advanceTimersByTime(waitMs ?? 0);
      world.act = ({ units: [unit] }) => {
        world.slow(unit ? unitOf(unit) : "", new Promise(() => {}));
        cloud.failure = new CloudError("GET /load_balancers", 503, "unavailable", "busy");
        return { status: "failed", changes: [], failure: failed };
      };
      await expect(turn.run()).rejects.toThrow("busy");
      cloud.failure = undefined;
      await expect(turn.run()).resolves.toBeUndefined();
    });

    it("is not made again from a list that was read before the action ended", async () => {
      const { turn, world, cloud, requests, kinds, end } = await start();
      const { state } = cloud.view;
      vi.spyOn(cloud.view, "state").mockImplementationOnce(async (ages) => {
        const before = await state.call(cloud.view, ages);
        cloud.balancers = [AS_WANTED];
        end();
        await vi.waitFor(() => expect(world.arrivals).toBe(1));
        return before;
      });
      await turn.run();
      expect(requests).toHaveLength(1);
      await turn.run();
      expect(requests).toHaveLength(1);
      expect(kinds().slice(-2)).toEqual(["ingress", "EnsuredLoadBalancer"]);
    });

    it("takes nothing for drift that is under way, nor for done, and nothing for drift afterwards", async () => {
      const { turn, world, cloud, kinds, outcomes, end } = await start();
      cloud.balancers = [AS_WANTED];
      await turn.run();
      expect([kinds().includes("EnsuredLoadBalancer"), outcomes]).toEqual([false, []]);
      end();
      await vi.waitFor(() => expect(world.arrivals).toBe(1));
      await turn.run();
      expect(kinds()).not.toContain("LoadBalancerDrifted");
    });
  });

  it("reports a change that the engine takes for failed as applied, if the cloud shows it (B4)", async () => {
    const { turn, world, cloud, kinds, lines } = aTurn();
    const recorded: AuditEntry[] = [];
    world.record = (entries) => void recorded.push(...entries);
    world.act = () => {
      cloud.balancers = [AS_WANTED];
      return { status: "failed", changes: [], failure: { code: "service_error", message: "in use", retry: "soon" } };
    };
    await turn.run();
    expect(kinds()).toContain("EnsuredLoadBalancer");
    expect(recorded.flatMap((entry) => (entry.kind === "outcome" ? [entry.status] : []))).toEqual(["applied"]);
    expect(lines.filter(({ msg }) => msg === "unit failed")).toEqual([]);
  });

  it("reports no failure of a change that succeeded although one of its requests was refused", async () => {
    const { turn, world, cloud, kinds } = aTurn();
    world.act = () => {
      const error = { code: "invalid_input", message: "invalid target" };
      const path = "/load_balancers";
      const sent = { run: "r", method: "POST", path, endpoint: path, status: 422, durationMs: 1 };
      world.exchange({ ...sent, unit: UNIT, error });
      cloud.balancers = [AS_WANTED];
      return { status: "applied", changes: [] };
    };
    await turn.run();
    expect(kinds()).toEqual(["add-finalizer", ...ENSURING, "ingress", "EnsuredLoadBalancer"]);
  });

  it("takes the reason of a failure from the API's own error, not from the engine's text", async () => {
    const { turn, world, writes } = aTurn();
    world.act = ({ units }) => {
      const error = { code: "invalid_input", message: "invalid input in field 'type'" };
      const path = "/load_balancers";
      const sent = { run: "r", method: "POST", path, endpoint: path, status: 422, durationMs: 1 };
      for (const unit of units.map(unitOf)) world.exchange({ ...sent, unit, error });
      return { status: "failed", changes: [], failure: { code: "engine", message: "exit 255", retry: "backoff" } };
    };
    await turn.run();
    const messages = writes.flatMap((write) => (write.kind === "event" ? [write.event.message] : []));
    expect(messages.join()).toContain("failed to ensure load balancer: invalid input in field 'type'");
  });

  it("starts no run for a cluster at rest", async () => {
    const { turn, cloud, requests } = aTurn({
      services: [aService({ finalizers: [FINALIZER], ingress: [{ ip: "198.51.100.1" }, { ip: "2001:db8:ffff::1" }] })],
    });
    cloud.balancers = [AS_WANTED];
    await turn.run();
    expect(requests).toEqual([]);
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

  it("does not call a load balancer deleted that it keeps, also if the finalizer stays until a later turn", async () => {
    const annotations = { "on-delete": "keep" };
    const { turn, world, cloud, kinds } = aTurn({
      services: [aService({ isDeleted: true, finalizers: [FINALIZER], annotations })],
    });
    cloud.balancers = [AS_WANTED];
    world.act = ({ units: [unit] }) => {
      cloud.balancers = [{ ...AS_WANTED, labels: unit?.kind === "load-balancer" ? unit.labels : {} }];
      return { status: "applied", changes: [] };
    };
    world.refuse = (writes) => writes.filter(({ kind }) => kind === "remove-finalizer");
    await turn.run();
    world.writes.length = 0;
    world.refuse = () => [];
    await turn.run();
    expect(kinds()).toEqual(["remove-finalizer", "LoadBalancerKept"]);
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

  it("makes no second load balancer when the first vanishes from the list, and does not call it deleted", async () => {
    const { turn, cloud, requests, kinds, lines } = aTurn({ services: [aService({ finalizers: [FINALIZER] })] });
    const named = { ...AS_WANTED, name: "shop" };
    cloud.balancers = [named];
    await turn.run();
    [cloud.balancers, cloud.unlisted] = [[], [named]];
    await expect(turn.run()).resolves.toBeUndefined();
    expect(requests).toEqual([]);
    expect(kinds()).not.toContain("LoadBalancerDrifted");
    expect(lines).toContainEqual(expect.objectContaining({ level: "warn", unit: UNIT, msg: "not recreated" }));
    [cloud.balancers, cloud.unlisted] = [[named], []];
    await turn.run();
    expect(requests).toEqual([]);
    cloud.balancers = [];
    await turn.run();
    expect(requests).toHaveLength(1);
  });

  it("adopts no second load balancer when the first vanishes from the list, however often it plans", async () => {
    const leftOut = aNode({ id: 9, ready: "False" }); // a reason to plan twice
    const { turn, cloud, objects, requests } = aTurn({ nodes: [aNode({ id: 1 }), leftOut] });
    cloud.balancers = [AS_WANTED];
    await turn.run();
    const shop = aBalancer({ id: 7, name: "shop" });
    objects.services = [aService({ finalizers: [FINALIZER], annotations: { name: "shop" } })];
    [cloud.balancers, cloud.unlisted] = [[shop], [AS_WANTED]];
    await turn.run();
    expect(requests).toEqual([]);
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
      "Load balancer was changed outside the cluster and is being repaired: algorithm was changed to least_connections, target server-1 was removed.",
    );
    writes.length = 0;
    await turn.run();
    objects.services = [aService({ annotations: { "algorithm-type": "least_connections" } })];
    repair({ ...AS_WANTED, algorithm: { type: "least_connections" } });
    await turn.run();
    const reasons = writes.flatMap((write) => (write.kind === "event" ? [write.event.reason] : []));
    expect(reasons).toEqual(["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
  });

  it("reports drift also when the change by hand follows a run at once", async () => {
    const { turn, world, cloud, kinds } = aTurn();
    world.act = () => {
      cloud.balancers = [AS_WANTED];
      return { status: "applied", changes: [] };
    };
    await turn.run();
    cloud.balancers = [{ ...AS_WANTED, algorithm: { type: "least_connections" } }];
    await turn.run();
    expect(kinds()).toContain("LoadBalancerDrifted");
  });

  it("takes no move to another network for drift that the guard has held back, and lets pass in the end", async () => {
    const uids = ["1", "2", "3", "4", "5", "6"];
    const services = uids.map((uid) => aService({ name: `web-${uid}`, uid, finalizers: [FINALIZER] }));
    const { turn, cloud, objects, requests, kinds } = aTurn({ services, options: { ...OPTIONS, networkId: 2 } });
    const balancerOf = (uid: string) => {
      const labels = { "hcloud-ccm/service-uid": uid };
      return {
        ...AS_WANTED,
        id: 40 + Number(uid),
        name: `a${uid}`,
        labels,
        private_net: [{ network: 1, ip: "10.0.0.9" }],
      };
    };
    cloud.balancers = uids.map(balancerOf);
    await turn.run();
    expect([requests.length, kinds().includes("RemovalsHeldBack")]).toEqual([0, true]);
    objects.services = services.slice(1);
    cloud.balancers = uids.slice(1).map(balancerOf);
    await turn.run();
    expect(requests[0]?.units).toHaveLength(5);
    expect(kinds()).not.toContain("LoadBalancerDrifted");
  });

  it("does not claim to repair what waits for approval", async () => {
    const nothing = { plan: [], waiting: 1, announced: [], approved: [] };
    const { turn, cloud, writes } = aTurn({ approvals: { pass: async () => nothing, forget } });
    cloud.balancers = [AS_WANTED];
    await turn.run();
    cloud.balancers = [{ ...AS_WANTED, algorithm: { type: "least_connections" } }];
    await turn.run();
    expect(JSON.stringify(writes)).toContain("outside the cluster. Its repair waits for approval: algorithm was");
  });

  it("records who approved, and asks again when a load balancer is deleted by hand right after its creation", async () => {
    const map = { data: {} as Readonly<Record<string, string>> };
    const update = async (change: (data: typeof map.data) => typeof map.data) => {
      map.data = change(map.data);
    };
    const config = { read: async () => map.data, update };
    const approvals = new ApprovalGate({ mode: "manual", map: config, log: aLog().log });
    const { turn, world, cloud, requests, objects, kinds } = aTurn({ approvals });
    const waiting = () => parsePending(map.data).waiting.map(({ id }) => id);
    await turn.run();
    expect(kinds()).toContain("PlanPending");
    map.data = withApprovals(map.data, waiting(), "ann");
    const recorded: AuditEntry[] = [];
    world.record = (entries) => void recorded.push(...entries.filter(({ kind }) => kind === "approval"));
    world.act = ({ mode }) => {
      if (mode === "apply") cloud.balancers = [AS_WANTED];
      return { status: "applied", changes: [] };
    };
    await turn.run();
    expect(recorded).toMatchObject([{ unit: UNIT, object: "Service default/web", by: "ann" }]);
    objects.services = [aService({ finalizers: [FINALIZER] })];
    expect([requests.filter(({ mode }) => mode === "apply").length, waiting().length]).toEqual([1, 0]);
    cloud.balancers = [];
    await turn.run();
    expect([requests.filter(({ mode }) => mode === "apply").length, waiting().length]).toEqual([1, 1]);
  });

  it("takes the lack of a response for the reason, although an earlier request was refused", async () => {
    const { turn, world, writes } = aTurn();
    world.act = ({ units }) => {
      const sent = { run: "r", method: "POST", path: "/load_balancers", endpoint: "/load_balancers", durationMs: 1 };
      const error = { code: "invalid_input", message: "invalid target" };
      for (const unit of units.map(unitOf)) {
        world.exchange({ ...sent, unit, status: 422, error });
        world.exchange({ ...sent, unit, status: 0 });
      }
      return { status: "failed", changes: [], failure: { code: "unavailable", message: "no response", retry: "soon" } };
    };
    await turn.run();
    expect(JSON.stringify(writes)).toContain("no response");
    expect(JSON.stringify(writes)).not.toContain("invalid target");
  });

  it("does not take a refusal for the reason that was overcome: the request was repeated and accepted", async () => {
    stopClocks();
    const { turn, world, writes } = aTurn();
    world.act = ({ units }) => {
      const sent = { run: "r", method: "POST", path: "/load_balancers", endpoint: "/load_balancers", durationMs: 1 };
      const error = { code: "rate_limit_exceeded", message: "limit of 3600 requests per hour reached" };
      for (const unit of units.map(unitOf)) {
        world.exchange({ ...sent, unit, status: 429, error });
        world.exchange({ ...sent, unit, status: 201 });
      }
      const failure = { code: "no_subnet_available", message: "no subnet available", retry: "backoff" } as const;
      return { status: "failed", changes: [], failure };
    };
    await expect(turn.run()).resolves.toBe(5_000);
    expect(JSON.stringify(writes)).toContain("failed to ensure load balancer: no subnet available");
  });

  it("HCCM S8: creates no load balancer for a Service whose finalizer could not be set, and retries soon", async () => {
    stopClocks();
    const { turn, world, requests } = aTurn();
    world.refuse = (writes) => writes.filter(({ kind }) => kind === "add-finalizer");
    await expect(turn.run()).resolves.toBe(1_000);
    expect(requests.flatMap(({ units }) => units)).toEqual([]);
    world.refuse = () => [];
    await turn.run();
    expect(requests.flatMap(({ units }) => units.map(unitOf))).toEqual([UNIT]);
  });

  it.each([
    ["finalizers that cannot be set", "add-finalizer", []],
    ["addresses that cannot be published", "ingress", [AS_WANTED]],
  ])("retries %s, with growing pauses", async (_, kind, balancers) => {
    stopClocks();
    const { turn, world, cloud, kinds } = aTurn();
    cloud.balancers = balancers;
    world.refuse = (writes) => writes.filter((write) => write.kind === kind);
    expect([await turn.run(), await turn.run(), await turn.run()]).toEqual([1_000, 2_000, 4_000]);
    world.refuse = () => [];
    world.act = () => {
      cloud.balancers = [AS_WANTED];
      return { status: "applied", changes: [] };
    };
    expect(await turn.run()).toBeUndefined();
    expect(kinds().filter((it) => it === kind)).toHaveLength(4);
  });

  it.each<[string, Record<string, string>, () => Promise<V1Service | undefined>, readonly string[]]>([
    ["deletes it when the API server confirms it", {}, async () => undefined, [UNIT]],
    ["deletes it when another Service has the name", {}, async () => aService({ uid: "other" }), [UNIT]],
    ["keeps it as the Service asked", { "on-delete": "keep" }, async () => undefined, []],
    ["keeps it while the API server still has the Service", {}, async () => aService(), []],
    ["keeps it while the API server does not respond", {}, () => Promise.reject(new Error("down")), []],
  ])("on a load balancer whose Service vanished with its finalizer: %s", async (_, annotations, read, removed) => {
    const { turn, world, cloud, objects, requests, kinds } = aTurn({ services: [aService({ annotations })] });
    cloud.balancers = [AS_WANTED];
    await turn.run();
    objects.services = [];
    world.readService = read;
    world.act = () => {
      cloud.balancers = [];
      return REMOVED;
    };
    await turn.run();
    expect(requests.flatMap(({ removals }) => removals)).toEqual(removed);
    if (removed.length === 0) return;
    expect(kinds().slice(-2)).toEqual(["remove-finalizer", "DeletedLoadBalancer"]);
    const readService = vi.spyOn(world, "readService");
    await turn.run();
    expect([requests.length, readService.mock.calls.length]).toEqual([1, 0]);
  });

  it("removes the finalizer of a Service that vanished again, if that failed", async () => {
    const { turn, world, cloud, objects, kinds } = aTurn();
    cloud.balancers = [AS_WANTED];
    await turn.run();
    objects.services = [];
    cloud.balancers = [];
    world.writes.length = 0;
    world.refuse = (writes) => writes.filter(({ kind }) => kind === "remove-finalizer");
    await turn.run();
    world.refuse = () => [];
    await turn.run();
    await turn.run();
    expect(kinds().filter((kind) => kind === "remove-finalizer")).toHaveLength(2);
  });

  it("leaves a load balancer whose Service vanished without our finalizer", async () => {
    const { turn, cloud, objects, requests } = aTurn();
    cloud.balancers = [AS_WANTED, { ...AS_WANTED, id: 43, name: "twin" }]; // the Service is refused
    await turn.run();
    objects.services = [];
    cloud.balancers = [AS_WANTED];
    await turn.run();
    expect(requests).toEqual([]);
  });

  it("removes a load balancer whose Service vanished while it was being deleted, also after a restart in between", async () => {
    const deleted = aService({ isDeleted: true, finalizers: [FINALIZER] });
    const { turn, world, cloud, objects, requests } = aTurn({ services: [deleted] });
    cloud.balancers = [AS_WANTED];
    world.act = () => FAILED;
    await turn.run();
    objects.services = [];
    world.act = () => {
      cloud.balancers = [];
      return REMOVED;
    };
    vi.useFakeTimers({ toFake: ["performance"] }).advanceTimersByTime(400_000);
    await turn.run();
    expect(requests.map(({ removals }) => removals)).toEqual([[UNIT], [UNIT]]);
  });

  it("slows down a Service that keeps changing, although every run succeeds, and no other (hardening 3)", async () => {
    const { turn, world, cloud, objects, requests } = aTurn();
    const other = aService({ name: "other", uid: "1" });
    world.act = ({ units }) => {
      const types = units.map((unit) => (unit.kind === "load-balancer" ? unit.algorithm : "round_robin"));
      cloud.balancers = [{ ...AS_WANTED, algorithm: { type: types[0] ?? "round_robin" } }];
      return { status: "applied", changes: [] };
    };
    const flip = (n: number) =>
      aService({ annotations: { "algorithm-type": n % 2 ? "least_connections" : "round_robin" } });
    let againMs: number | undefined;
    for (let n = 0; n < 12; n += 1) {
      objects.services = [flip(n)];
      againMs = await turn.run();
    }
    expect(requests).toHaveLength(5);
    expect(againMs).toBeGreaterThan(25_000);
    objects.services = [flip(1), other];
    await turn.run();
    expect(requests.at(-1)?.units.map(unitOf)).toEqual([
      loadBalancerUnit({ namespace: "default", name: "other", uid: "1" }),
    ]);
  });

  it("does not take a vanished Service and its successor of the same name for one that keeps changing", async () => {
    stopClocks();
    const { turn, world, cloud, objects, requests } = aTurn({ services: [aService({ finalizers: [FINALIZER] })] });
    cloud.balancers = [AS_WANTED];
    await turn.run();
    const next = { ...AS_WANTED, id: 43, name: "a2", labels: { "hcloud-ccm/service-uid": "2" } };
    objects.services = [aService({ uid: "2", finalizers: [FINALIZER] })];
    world.act = () => {
      cloud.balancers = [AS_WANTED, next];
      return FAILED; // the removal is retried
    };
    for (let n = 0; n < 4; n += 1) {
      await turn.run();
      vi.advanceTimersByTime(1_000);
    }
    objects.services = [aService({ uid: "2", finalizers: [FINALIZER], annotations: { type: "lb21" } })];
    await turn.run();
    expect(requests.at(-1)?.units).toMatchObject([{ service: { uid: "2" }, type: "lb21" }]);
  });

  it("removes the load balancer of a restless Service at once", async () => {
    const { turn, world, cloud, objects, requests } = aTurn();
    cloud.balancers = [AS_WANTED];
    for (let n = 0; n < 8; n += 1) {
      objects.services = [aService({ annotations: { "http-redirect-http": `no ${n}` }, finalizers: [FINALIZER] })];
      await turn.run();
    }
    objects.services = [aService({ isDeleted: true, finalizers: [FINALIZER] })];
    world.act = () => REMOVED;
    await turn.run();
    expect(requests.flatMap(({ removals }) => removals)).toEqual([UNIT]);
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

  it("waits for nothing more once the retry has succeeded", async () => {
    stopClocks();
    const { turn, world, cloud } = aTurn();
    world.act = () => FAILED;
    vi.advanceTimersByTime((await turn.run()) ?? 0);
    world.act = () => {
      cloud.balancers = [AS_WANTED];
      return { status: "applied", changes: [] };
    };
    await expect(turn.run()).resolves.toBeUndefined();
  });

  it("looks again soon while a certificate is being issued", async () => {
    const annotations = {
      protocol: "https",
      "http-certificate-type": "managed",
      "http-managed-certificate-domains": "example.com",
    };
    const { turn, cloud, requests } = aTurn({ services: [aService({ finalizers: [FINALIZER], annotations })] });
    cloud.balancers = [{ ...AS_WANTED, services: [] }];
    cloud.certificates = [anIssuedCertificate("pending", { created: new Date().toISOString() })];
    await expect(turn.run()).resolves.toBe(3_000);
    expect(requests).toEqual([]);
  });

  it("retries at once when the failed change has changed", async () => {
    const { turn, world, objects, requests } = aTurn();
    world.act = () => FAILED;
    await turn.run();
    objects.services = [aService({ annotations: { type: "lb21" } })];
    await turn.run();
    expect(requests.map(({ units }) => units.length)).toEqual([1, 1]);
  });

  describe("does not turn without a pause for a unit that has failed", () => {
    const waitsOf = async (turn: ClusterTurn) => {
      const waits: (number | undefined)[] = [];
      for (let n = 0; n < 3; n += 1) {
        vi.advanceTimersByTime(2_000);
        waits.push(await turn.run());
      }
      return waits;
    };

    it("and waits for approval", async () => {
      stopClocks();
      const nothing = { waiting: 0, announced: [], approved: [] };
      const approvals = { pass: vi.fn(async ({ plan }: { readonly plan: Plan }) => ({ ...nothing, plan })), forget };
      const { turn, world, objects } = aTurn({ approvals });
      world.act = () => FAILED;
      await turn.run();
      approvals.pass.mockImplementation(async () => ({ ...nothing, plan: [], waiting: 1 }));
      objects.services = [aService({ annotations: { type: "lb21" } })];
      expect(await waitsOf(turn)).toEqual([undefined, undefined, undefined]);
    });

    it("and whose Service changes too often", async () => {
      stopClocks();
      const { turn, world, objects } = aTurn();
      world.act = () => FAILED;
      for (let n = 0; n < 7; n += 1) {
        objects.services = [aService({ annotations: { "health-check-interval": `${10 + n}s` } })];
        await turn.run();
      }
      for (const waitMs of await waitsOf(turn)) expect(waitMs).toBeGreaterThan(1_000);
    });
  });

  describe("keeps the finalizer for a while after a creation without a response", () => {
    const GONE = [aService({ isDeleted: true, finalizers: [FINALIZER] })];
    const failed = (code: string): UnitOutcome => ({
      status: "failed",
      changes: [],
      failure: { code, message: "", retry: "soon" },
    });
    /** Long after the start, before which every creation is in doubt. */
    const later = async () => {
      stopClocks();
      const it = aTurn({ services: [] });
      await it.turn.run();
      vi.advanceTimersByTime(100_000);
      it.objects.services = [aService()];
      return it;
    };

    it.each([
      ["unavailable", true],
      ["unexpected", true],
      ["deadline", true],
      ["worker-died", true],
      ["resource_limit_exceeded", false],
    ])("%s: %s", async (code, isKept) => {
      const { turn, world, objects, kinds } = await later();
      world.act = () => failed(code);
      await turn.run();
      objects.services = GONE;
      await turn.run();
      expect(kinds().includes("remove-finalizer")).toBe(!isKept);
      vi.advanceTimersByTime(31_000);
      await turn.run();
      expect(kinds()).toContain("remove-finalizer");
    });

    it("also if the Service was deleted during the run, which is not recorded as applied", async () => {
      const { turn, world, objects, kinds } = await later();
      const outcomes: AuditEntry[] = [];
      world.record = (entries) => void outcomes.push(...entries.filter(({ kind }) => kind === "outcome"));
      world.act = () => {
        objects.services = GONE;
        return failed("unavailable");
      };
      await turn.run();
      expect(kinds()).not.toContain("remove-finalizer");
      expect(outcomes).toMatchObject([{ status: "failed" }]);
    });

    it("also if its action outlasts the run, and no list shows it yet", async () => {
      const { turn, world, objects, kinds } = await later();
      world.act = ({ units: [unit] }) => {
        world.slow(unit ? unitOf(unit) : "", Promise.resolve(undefined));
        return failed("under_way");
      };
      await turn.run();
      objects.services = GONE;
      await turn.run();
      expect(kinds()).not.toContain("remove-finalizer");
      vi.advanceTimersByTime(31_000);
      await turn.run();
      expect(kinds()).toContain("remove-finalizer");
    });

    it("also if the list after the run could not be read", async () => {
      const { turn, world, cloud, objects, kinds } = await later();
      world.act = () => {
        cloud.failure = new CloudError("GET /load_balancers", 503, "unavailable", "down");
        return failed("unavailable");
      };
      await expect(turn.run()).rejects.toThrow();
      cloud.failure = undefined;
      objects.services = GONE;
      await turn.run();
      expect(kinds()).not.toContain("remove-finalizer");
    });
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

  it.each([
    ["keeps the target when it finds it as before", [], [aServer({ id: 2 })], 0],
    ["keeps it when only the list lacks its address", [aServer({ id: 2, ipv4: null })], [aServer({ id: 2 })], 0],
    ["removes the target when it finds the same", [], [], 1],
  ])("reads a Ready Node's server directly before a list removes its target, and %s", async (...given) => {
    const [, listed, direct, removals] = given;
    const nodes = [1, 2].map((id) => aNode({ id, ready: "True" }));
    const { turn, cloud, requests } = aTurn({ nodes });
    const directReads = () => cloud.reads.filter((path) => path === "/servers/2").length;
    cloud.balancers = [{ ...AS_WANTED, targets: [aServerTarget(1), aServerTarget(2)] }];
    cloud.servers = [...cloud.servers, ...listed];
    cloud.direct = direct;
    await turn.run();
    expect([requests.length, directReads()]).toEqual([removals, 1]);
    cloud.balancers = [{ ...AS_WANTED, targets: [aServerTarget(1)] }];
    cloud.direct = [];
    await turn.run();
    expect(directReads()).toBe(1); // a Node that is no target costs nothing
  });

  it("reads the server again in the next turn, in which it may be gone", async () => {
    const { turn, cloud, requests } = aTurn({ nodes: [1, 2].map((id) => aNode({ id, ready: "True" })) });
    cloud.balancers = [{ ...AS_WANTED, targets: [aServerTarget(1), aServerTarget(2)] }];
    cloud.direct = [aServer({ id: 2 })];
    await turn.run();
    expect(requests).toEqual([]);
    cloud.direct = [];
    await turn.run();
    expect(requests).toMatchObject([{ units: [{ targets: [{ serverId: 1 }] }] }]);
  });

  it("serves all other Nodes when a Ready Node's server cannot be understood", async () => {
    const nodes = [1, 2].map((id) => aNode({ id, ready: "True" }));
    const { turn, cloud, requests } = aTurn({ nodes });
    cloud.balancers = [{ ...AS_WANTED, algorithm: { type: "least_connections" }, targets: [aServerTarget(2)] }];
    cloud.servers = [...cloud.servers, { ...aServer({ id: 2 }), private_net: [{ network: 1, ip: "" }] }];
    await turn.run();
    expect(requests).toMatchObject([{ units: [{ targets: [{ serverId: 1 }] }] }]);
  });

  it("does not blame a Node that joins for a list from before: it reads the servers again first", async () => {
    const network = aNetwork();
    const { turn, world, cloud, objects, requests, kinds } = aTurn({ services: [], nodes: [], network });
    await turn.run();
    world.act = () => {
      cloud.network = aNetwork({ routes: [{ destination: "10.120.2.0/24", gateway: "10.0.0.2" }] });
      return { status: "applied", changes: [] };
    };
    cloud.servers = [aServer({ id: 2, privateIp: "10.0.0.2" })];
    objects.nodes = [aNode({ id: 2, podCIDRs: ["10.120.2.0/24"] })];
    await turn.run();
    expect(requests.flatMap(({ units }) => units)).toMatchObject([{ kind: "route", gateway: "10.0.0.2" }]);
    expect(kinds()).not.toContain("FailedToCreateRoute");
  });

  it("retries the condition of a Node that could not be written to", async () => {
    stopClocks();
    const network = aNetwork({ routes: [{ destination: "10.120.1.0/24", gateway: "10.0.0.1" }] });
    const nodes = [aNode({ id: 1, podCIDRs: ["10.120.1.0/24"] })];
    const { turn, world, cloud, kinds } = aTurn({ services: [], nodes, network });
    cloud.servers = [aServer({ id: 1, privateIp: "10.0.0.1" })];
    world.refuse = (writes) => writes.filter(({ kind }) => kind === "network-condition");
    expect([await turn.run(), await turn.run()]).toEqual([1_000, 2_000]);
    expect(kinds()).toEqual(["network-condition", "network-condition"]);
  });

  it("reads a list once more for a Node without a server, not in every turn", async () => {
    const network = aNetwork();
    const given = { id: 9, podCIDRs: ["10.120.9.0/24"] };
    const { turn, cloud, objects, kinds } = aTurn({ services: [], nodes: [aNode(given)], network });
    const lists = () => cloud.reads.filter((path) => path.startsWith("/servers?")).length;
    await turn.run();
    expect([kinds().includes("FailedToCreateRoute"), lists()]).toEqual([true, 2]);
    const conditions = [{ type: "NetworkUnavailable", status: "True", reason: "NoRouteCreated" }];
    objects.nodes = [aNode({ ...given, conditions })];
    await turn.run();
    expect(lists()).toBe(2);
  });

  it("changes nothing while a Ready Node's server is neither listed nor readable", async () => {
    const { turn, cloud, requests } = aTurn({ nodes: [1, 2].map((id) => aNode({ id, ready: "True" })) });
    cloud.balancers = [{ ...AS_WANTED, targets: [aServerTarget(1), aServerTarget(2)] }];
    vi.spyOn(cloud.view, "server").mockRejectedValue(new CloudError("GET /servers/2", 500, "x", "down"));
    await expect(turn.run()).rejects.toThrow("down");
    expect(requests).toEqual([]);
  });

  it("keeps all targets when the network vanishes from every server at once, and still changes the rest", async () => {
    const nodes = Array.from({ length: 8 }, (_, index) => aNode({ id: index + 1, ready: "True" }));
    const { turn, cloud, requests, kinds, writes } = aTurn({ nodes });
    cloud.servers = nodes.map((_, index) => aServer({ id: index + 1, ipv4: null }));
    cloud.balancers = [
      { ...AS_WANTED, algorithm: { type: "least_connections" }, targets: nodes.map((_, i) => aServerTarget(i + 1)) },
    ];
    await turn.run();
    expect(requests.flatMap(({ units }) => units)).toMatchObject([{ targets: { length: 8 } }]);
    expect(kinds()).toContain("RemovalsHeldBack");
    const messages = writes.flatMap((write) => (write.kind === "event" ? [write.event.message] : []));
    expect(messages.join()).toContain("8 of 8 targets would be removed although no object asks for it: server-1");
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
    expect(changes().at(-1)).toMatchObject({ reason: "drift: it was changed outside the cluster" });
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
      prepare: () => {},
    },
    patcher: { readService: async () => undefined },
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

it("prepares the engine after a run, with the credential of the next one", async () => {
  const { turn, world, cloud, objects } = aTurn();
  await turn.run();
  await turn.run();
  expect(world.prepared).toEqual(["credential-1"]);
  cloud.balancers = [];
  objects.services = [aService({ name: "other", uid: "2" })];
  await turn.run();
  expect(world.requests.map(({ access }) => access.token)).toEqual(["credential", "credential-1"]);
  expect(world.prepared).toEqual(["credential-1", "credential-2"]);
});
