import { CoordinationV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { isWrite, requestsOf } from "../support/audit-log.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { type Recorded, startRecordingProxy } from "../support/recording-proxy.ts";
import { startWorld, type World } from "../support/world.ts";

/** Longer than a lease, for a failover without a release on a busy machine. */
const TAKEOVER_MS = 60_000;

describe("three replicas under load", () => {
  let world: World;
  let ends: AsyncDisposableStack;
  const records: Recorded[] = [];
  const replicas = new Map<string, ControllerProcess>();
  const names = new Set<string>();

  beforeAll(async () => {
    ends = new AsyncDisposableStack();
    world = ends.use(
      await startWorld({ nodes: 3, cloud: { latencyMs: 20, actionMs: 400, rateLimit: "off" }, isAudited: true }),
    );
    for (const name of ["a", "b", "c"]) await start(name);
  });
  afterAll(() => ends.disposeAsync());

  async function start(name: string): Promise<void> {
    const proxy = ends.use(await startRecordingProxy(world.cloud.url, name, records));
    names.add(name);
    const flags = ["--leader-elect=true", "--kubeconfig", await world.kubeconfigOf(name)];
    replicas.set(name, world.startController(flags, { HCLOUD_ENDPOINT: proxy.url }));
  }
  const replica = (name: string): ControllerProcess => {
    const found = replicas.get(name);
    if (!found) throw new Error(`no replica ${name}`);
    return found;
  };
  const writes = () => records.filter(({ method }) => method !== "GET");
  /** Writes in the audit log of the API server, with their replica. */
  const audited = () =>
    requestsOf(world.cluster)
      .filter(isWrite)
      .map((request) => ({ ...request, who: request.groups.find((group) => names.has(group)) ?? "" }))
      .toSorted((a, b) => a.receivedAt - b.receivedAt);
  const objectWrites = () => audited().filter(({ resource }) => resource !== "leases");
  /** The holder of the lease at a given time: the replica that wrote it last. */
  const holderAt = (at: number) =>
    audited().findLast(({ resource, status, receivedAt }) => resource === "leases" && status < 300 && receivedAt <= at)
      ?.who;
  const lease = async () =>
    (
      await connect(world.cluster.kubeconfig, CoordinationV1Api).readNamespacedLease({
        namespace: "kube-system",
        name: "cloud-controller-manager",
      })
    ).spec;

  /** The leading replica, which must not be one of these. */
  const leader = (...others: readonly string[]) =>
    eventually(
      () => {
        const rest = [...replicas].filter(([name]) => !others.includes(name));
        const leading = rest.filter(([, process]) => process.records("leading").length > 0);
        expect(leading).toHaveLength(1);
        return leading[0]?.[0] ?? "";
      },
      { timeoutMs: TAKEOVER_MS },
    );

  /** Waits until every Service has exactly one load balancer. */
  const converged = (count: number) =>
    eventually(
      async () => {
        const { items } = await world.core.listNamespacedService({ namespace: "default" });
        const services = items.filter(({ spec }) => spec?.type === "LoadBalancer");
        expect(services).toHaveLength(count);
        for (const { status } of services) expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
        const owners = world.cloud.state.loadBalancers.values().map(({ labels }) => labels[SERVICE_UID_LABEL]);
        expect(owners.toSorted()).toEqual(services.map(({ metadata }) => metadata?.uid).toSorted());
      },
      { timeoutMs: 90_000, intervalMs: 200 },
    );

  const create = (name: string) => world.createService(name, { "use-private-ip": "true" }, [80, 443]);

  /** Starts work, and waits until the leader has begun it. */
  async function load(name: string, prefix: string): Promise<void> {
    const before = writes().length;
    for (const index of [1, 2, 3, 4]) await create(`${prefix}-${index}`);
    await eventually(() =>
      expect(
        writes()
          .slice(before)
          .some(({ who }) => who === name),
      ).toBe(true),
    );
  }

  it("elect a leader, record it in the Lease, and the others stand by with filled caches", async () => {
    const first = await leader();
    expect((await lease())?.holderIdentity).toMatch(/_[0-9a-f-]{36}$/);
    const others = [...replicas.keys()].filter((name) => name !== first);
    for (const name of others) {
      await eventually(() => expect(replica(name).records("standing by")).toHaveLength(1), { timeoutMs: TAKEOVER_MS });
      expect(replica(name).records("controller running")).toEqual([]);
    }
    await eventually(async () => {
      const events = await world.events();
      expect(events.filter(({ reason }) => reason === "LeaderElection").map(({ message }) => message)).toEqual([
        expect.stringMatching(/_[0-9a-f-]{36} became leader$/),
      ]);
    });
  });

  it("stop writing when paused, before another replica starts, and never write again", async () => {
    const paused = await leader();
    await create("first");
    await converged(1);
    await load(paused, "early");
    replica(paused).signal("SIGSTOP");
    await create("early-5");
    const next = await leader(paused);
    await converged(6);
    const seen = { cloud: records.length, objects: audited().length };
    replica(paused).signal("SIGCONT");
    expect(await replica(paused).ended).toBe(1);
    expect(replica(paused).output).toContain("leadership lost");
    expect(records.slice(seen.cloud).filter(({ who, method }) => who === paused && method !== "GET")).toEqual([]);
    const late = audited()
      .slice(seen.objects)
      .filter(({ who }) => who === paused);
    expect(late.filter(({ resource }) => resource !== "leases")).toEqual([]);
    expect(
      late.filter(({ status }) => status < 300),
      "not even the lease",
    ).toEqual([]);
    expect(blocks(writes())).toEqual([paused, next]);
    expect(blocks(objectWrites())).toEqual([paused, next]);
    replicas.delete(paused);
  }, 200_000);

  it("take over from a replica that was killed during a run, and lose nothing", async () => {
    const killed = await leader();
    await load(killed, "late");
    replica(killed).signal("SIGKILL");
    await replica(killed).ended;
    await create("late-5");
    const next = await leader(killed);
    await converged(11);
    expect(blocks(writes()).slice(-2)).toEqual([killed, next]);
    expect(blocks(objectWrites()).slice(-2)).toEqual([killed, next]);
    replicas.delete(killed);
  }, 200_000);

  it("take over within seconds when the leader is stopped, and release the Lease at the end", async () => {
    await start("d");
    await eventually(() => expect(replica("d").records("standing by")).toHaveLength(1), { timeoutMs: TAKEOVER_MS });
    const last = await leader("d");
    const began = performance.now();
    await replica(last).stop();
    const stoppedMs = performance.now() - began;
    await eventually(() => expect(replica("d").records("leading")).toHaveLength(1), { timeoutMs: 14_000 });
    expect(performance.now() - began - stoppedMs, "released, not waited for").toBeLessThan(14_000);
    replicas.delete(last);
    await replica("d").stop();
    expect((await lease())?.holderIdentity ?? "").toBe("");
    expect(new Set(blocks(writes())).size, "each replica wrote in one term only").toBe(blocks(writes()).length);
  }, 120_000);

  it("wrote to the cluster in sequence, each while it held the Lease", () => {
    const terms = blocks(objectWrites());
    expect(new Set(terms).size, "each replica wrote in one term only").toBe(terms.length);
    expect(terms).toHaveLength(4);
    for (const [index, term] of terms.entries()) {
      const own = objectWrites().filter(({ who }) => who === term);
      const next = objectWrites().find(({ who }) => who === terms[index + 1]);
      const last = Math.max(...own.map(({ answeredAt }) => answeredAt));
      expect(next?.receivedAt ?? Number.POSITIVE_INFINITY).toBeGreaterThan(last);
      expect(
        own.filter(({ receivedAt, answeredAt }) => holderAt(receivedAt) !== term || holderAt(answeredAt) !== term),
      ).toEqual([]);
    }
    const kinds = (name = "") =>
      new Set(objectWrites().flatMap(({ who, resource }) => (who === name ? [resource] : [])));
    for (const kind of ["nodes", "nodes/status", "services/status", "events"]) expect(kinds(terms[0])).toContain(kind);
    for (const kind of ["services/status", "events"]) expect(kinds(terms[1])).toContain(kind);
    // The state is saved some seconds after a change: a replica that is paused or killed before that does not save it.
    expect(terms.some((term) => kinds(term).has("secrets"))).toBe(true);
  });
});

/** The sequence of writers. Concurrent writers would alternate. */
function blocks(writes: readonly { readonly who: string }[]): readonly string[] {
  return writes.map(({ who }) => who).filter((who, index, all) => who !== all[index - 1]);
}
