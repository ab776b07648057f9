import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KubeError } from "../../../../controller/diagnostics/errors.ts";
import { LeaderLease, type LeaseObject } from "../../../../controller/kube/lease.ts";
import type { Clock } from "../../../../controller/work/clock.ts";
import { ManualClock } from "../../../support/clock.ts";
import { aLog } from "../../../support/log.ts";

const CONFIG = { namespace: "kube-system", name: "ccm", durationMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };

/** An API server with at most one Lease, which keeps versions as the real one does. */
class FakeApi {
  lease: LeaseObject | undefined;
  /** When set, every request fails with it. */
  failure: Error | undefined;
  /** When set, writes are carried out but their answers are lost. */
  losesAnswers = false;
  #version = 0;

  readonly client = {
    get: async <T>(path: string) => {
      if (this.failure) throw this.failure;
      if (!this.lease) throw new KubeError(`GET ${path}`, 404, "not found");
      return this.lease as T;
    },
    create: async <T>(path: string, body: unknown) => {
      if (this.failure) throw this.failure;
      if (this.lease) throw new KubeError(`POST ${path}`, 409, "exists");
      return this.store(body as LeaseObject) as T;
    },
    replace: async <T>(path: string, body: unknown) => {
      if (this.failure) throw this.failure;
      if (!this.lease) throw new KubeError(`PUT ${path}`, 404, "not found");
      const lease = body as LeaseObject;
      if (lease.metadata.resourceVersion !== this.lease.metadata.resourceVersion)
        throw new KubeError(`PUT ${path}`, 409, "conflict");
      const stored = this.store(lease);
      if (this.losesAnswers) throw new KubeError(`PUT ${path}`, 0, "socket hang up");
      return stored as T;
    },
  };

  store(lease: LeaseObject): LeaseObject {
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++this.#version) } };
    return this.lease;
  }
}

let api: FakeApi;
let clock: ManualClock;
let leases: LeaderLease[];
let signal: AbortController;

beforeEach(() => {
  clock = new ManualClock("2026-01-01T00:00:00Z");
  vi.spyOn(Math, "random").mockReturnValue(0);
  api = new FakeApi();
  leases = [];
  signal = new AbortController();
});
afterEach(async () => {
  signal.abort();
  api.failure = undefined;
  await Promise.all(leases.map((lease) => lease.release()));
  vi.restoreAllMocks();
});

function aLease(identity: string, by: Clock = clock, config = CONFIG): LeaderLease {
  const lease = new LeaderLease({ client: api.client, config, identity, log: aLog().log, clock: by });
  leases.push(lease);
  return lease;
}

/** Whether a promise has been settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await clock.advance(0);
  return settled;
}

describe("a lease without a holder", () => {
  it("is created with upstream's fields", async () => {
    expect(await aLease("a").acquire(signal.signal)).toBe(true);
    expect(api.lease).toMatchObject({
      metadata: { name: "ccm", namespace: "kube-system" },
      spec: {
        holderIdentity: "a",
        leaseDurationSeconds: 15,
        acquireTime: "2026-01-01T00:00:00.000000Z",
        renewTime: "2026-01-01T00:00:00.000000Z",
        leaseTransitions: 0,
      },
    });
  });

  it("is acquired at once after a release, and counts the transition", async () => {
    const first = aLease("a");
    await first.acquire(signal.signal);
    await first.release();
    expect(first.isHeld).toBe(false);
    expect(api.lease?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    expect(await aLease("b").acquire(signal.signal)).toBe(true);
    expect(api.lease?.spec).toMatchObject({ holderIdentity: "b", leaseDurationSeconds: 15, leaseTransitions: 1 });
  });

  it("is no longer held after a release that did not reach the API server", async () => {
    const lease = aLease("a");
    await lease.acquire(signal.signal);
    api.failure = new KubeError("PUT", 0, "no answer");
    await lease.release();
    expect(lease.isHeld).toBe(false);
  });

  it("goes to one of several simultaneous candidates", async () => {
    const rivals = ["a", "b", "c"].map((name) => aLease(name));
    for (const rival of rivals) void rival.acquire(signal.signal);
    await clock.advance(30_000);
    expect(rivals.filter(({ isHeld }) => isHeld)).toHaveLength(1);
  });
});

describe("a lease held by another process", () => {
  it("framework 5.4: is acquired only after it was not renewed for its whole duration", async () => {
    api.store({
      metadata: { name: "ccm", namespace: "kube-system" },
      spec: { holderIdentity: "x", leaseDurationSeconds: 15 },
    });
    const lease = aLease("a");
    const acquired = lease.acquire(signal.signal);
    await clock.advance(14_000);
    expect(lease.isHeld).toBe(false);
    await clock.advance(2_000);
    expect(await acquired).toBe(true);
    expect(api.lease?.spec).toMatchObject({ holderIdentity: "a", leaseTransitions: 1 });
  });

  it("is not acquired as long as it is renewed, whatever its timestamps say", async () => {
    const holder = aLease("x");
    await holder.acquire(signal.signal);
    const lease = aLease("a");
    const acquired = lease.acquire(signal.signal);
    await clock.advance(120_000);
    expect(await isSettled(acquired)).toBe(false);
    expect([holder.isHeld, lease.isHeld]).toEqual([true, false]);
  });

  it("is not acquired early after its deletion, because its holder does not know yet", async () => {
    api.store({
      metadata: { name: "ccm", namespace: "kube-system" },
      spec: { holderIdentity: "x", leaseDurationSeconds: 15 },
    });
    const lease = aLease("a");
    void lease.acquire(signal.signal);
    await clock.advance(3_000);
    api.lease = undefined;
    await clock.advance(14_000);
    expect(lease.isHeld).toBe(false);
    await clock.advance(5_000);
    expect(lease.isHeld).toBe(true);
  });

  it("is no longer waited for when the process stops", async () => {
    api.store({ metadata: { name: "ccm", namespace: "kube-system" }, spec: { holderIdentity: "x" } });
    const acquired = aLease("a").acquire(signal.signal);
    await clock.advance(1_000);
    signal.abort();
    expect(await acquired).toBe(false);
    expect(api.lease?.spec?.holderIdentity).toBe("x");
  });
});

describe("the leader", () => {
  it("renews every two seconds", async () => {
    await aLease("a").acquire(signal.signal);
    await clock.advance(20_000);
    expect(api.lease?.metadata.resourceVersion).toBe("11");
    expect(api.lease?.spec).toMatchObject({
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:20.000000Z",
      leaseTransitions: 0,
    });
  });

  it("stops writing ten seconds after its last renewal, five before another may start", async () => {
    const lease = aLease("a");
    await lease.acquire(signal.signal);
    const other = aLease("b");
    void other.acquire(signal.signal);
    await clock.advance(2_500);
    api.failure = new KubeError("PUT", 0, "no answer");
    await clock.advance(9_400);
    expect(lease.isHeld).toBe(true);
    await clock.advance(200);
    expect(lease.isHeld).toBe(false);
    expect(await isSettled(lease.lost)).toBe(true);
    expect(await lease.lost).toContain("in time");
    api.failure = undefined;
    await clock.advance(2_000);
    expect(other.isHeld).toBe(false);
    await clock.advance(6_000);
    expect(other.isHeld).toBe(true);
  });

  it("stops writing before another may start, also with durations that are no whole seconds", async () => {
    const config = { ...CONFIG, durationMs: 15_400, deadlineMs: 15_300, retryMs: 1_000 };
    const lease = aLease("a", clock, config);
    await lease.acquire(signal.signal);
    const { replace } = api.client;
    api.client.replace = async <T>(path: string, body: unknown) => {
      if ((body as LeaseObject).spec?.holderIdentity === "a") throw new KubeError(`PUT ${path}`, 0, "no answer");
      return replace<T>(path, body);
    };
    const other = aLease("b", clock, config);
    const acquired = other.acquire(signal.signal);
    await clock.advance(15_200);
    expect([lease.isHeld, other.isHeld]).toEqual([true, false]);
    await clock.advance(3_000);
    expect([lease.isHeld, await acquired]).toEqual([false, true]);
  });

  it("survives a short outage and lost responses", async () => {
    const lease = aLease("a");
    await lease.acquire(signal.signal);
    api.failure = new KubeError("PUT", 500, "etcd is away");
    await clock.advance(7_000);
    api.failure = undefined;
    api.losesAnswers = true;
    await clock.advance(1_000);
    api.losesAnswers = false;
    await clock.advance(20_000);
    expect(lease.isHeld).toBe(true);
    expect(await isSettled(lease.lost)).toBe(false);
  });

  it("stops at once when another process took over", async () => {
    const lease = aLease("a");
    await lease.acquire(signal.signal);
    api.store({ ...(api.lease as LeaseObject), spec: { ...api.lease?.spec, holderIdentity: "thief" } });
    await clock.advance(2_100);
    expect(lease.isHeld).toBe(false);
    expect(await lease.lost).toContain("thief");
    await lease.release();
    expect(api.lease?.spec?.holderIdentity).toBe("thief");
  });

  it("recreates a deleted lease", async () => {
    const lease = aLease("a");
    await lease.acquire(signal.signal);
    api.lease = undefined;
    await clock.advance(3_000);
    expect((api.lease as LeaseObject | undefined)?.spec?.holderIdentity).toBe("a");
    expect(lease.isHeld).toBe(true);
  });

  it.each([
    ["stopped, while the monotonic clock goes on", { now: 60_000, wallTime: 0 }],
    ["suspended with its machine, when only the wall clock shows it", { now: 0, wallTime: 60_000 }],
  ])("notices at its next step that it was %s", async (_, jump) => {
    const ahead = { now: 0, wallTime: 0 };
    const lease = aLease("a", {
      now: () => clock.now() + ahead.now,
      wallTime: () => clock.wallTime() + ahead.wallTime,
      pause: clock.pause,
    });
    await lease.acquire(signal.signal);
    expect(lease.isHeld).toBe(true);
    Object.assign(ahead, jump);
    expect(lease.isHeld).toBe(false);
  });
});
