/** A hostile tenant beside a well-behaved one, whose Services, Nodes and routes are held to bounds. */
import { setTimeout } from "node:timers/promises";
import type { V1Lease, V1Node, V1Service } from "@kubernetes/client-node";
import { expect } from "vitest";
import { paths } from "../../controller/kube/paths.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { ABUSES, Tenant } from "./abuse.ts";
import { eventually } from "./eventually.ts";
import { Random } from "./random.ts";
import { startWorld, type World } from "./world.ts";

/** Concurrent abuses. */
const HANDS = 4;
/** Until a Service of the well-behaved tenant is served, or a Node has its route: several turns on a busy machine. */
const BOUND_MS = 20_000;

/** Runs for this long. Prints the seed, which repeats the sequence of abuses. */
export async function sufferTenant(forMs: number, seed = Date.now() % 100_000): Promise<void> {
  process.stdout.write(`seed of the hostile tenant: ${seed}\n`);
  await using world = await startWorld({ nodes: 2, cloud: { rateLimit: "off" }, tlsSecrets: true });
  const controller = world.startController(["--leader-elect=true"], { LOTSE_TLS_SECRETS: "true" });
  const good = new GoodTenant(world);
  await good.expectServed("first");
  const holder = await leader(world);
  const victim = good.balancerOf("first");
  if (!victim) throw new Error("the first Service has no load balancer");
  const tenant = await Tenant.enter(world);

  const end = performance.now() + forMs;
  const abusing = abuse(tenant, { victim, seed, isOver: () => performance.now() > end });
  for (let round = 1; performance.now() < end; round += 1) {
    await good.expectServed(`good-${round}`);
    if (round === 1) await good.expectNode(3);
    if (round > 1) await good.expectGone(`good-${round - 1}`);
    await setTimeout(500);
  }
  expect(await abusing, "the API server accepted most of them").toBeGreaterThanOrEqual(25);

  await good.expectUnharmed("first", victim);
  expect(await leader(world), "the lease was never lost").toBe(holder);
  expect(controller.records().filter(({ level }) => level >= 50)).toEqual([]);
  await expectNoOrphans(world, tenant);
}

interface Abusing {
  readonly victim: { readonly name: string; readonly id: number };
  readonly seed: number;
  readonly isOver: () => boolean;
}

/** Every kind once, then at random. Returns how many kinds the API server accepted. */
async function abuse(tenant: Tenant, { victim, seed, isOver }: Abusing): Promise<number> {
  const random = new Random(seed);
  const counts: Record<string, number> = {};
  const accepted = new Set<string>();
  const kinds = Object.keys(ABUSES);
  const queue = [...kinds];
  const hand = async () => {
    while (queue.length > 0 || !isOver()) {
      const kind = queue.shift() ?? random.pick(kinds);
      const count = (counts[kind] ?? 0) + 1;
      counts[kind] = count;
      await ABUSES[kind]?.({ tenant, random, victim, isOdd: count % 2 === 1 }).then(
        () => accepted.add(kind),
        () => {}, // refused, or in conflict with another hand
      );
    }
  };
  await Promise.all(Array.from({ length: HANDS }, hand));
  return accepted.size;
}

class GoodTenant {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  balancerOf(name: string) {
    return this.#world.cloud.state.loadBalancers.values().find(({ labels }) => labels.test === name);
  }

  async expectServed(name: string): Promise<void> {
    await this.#world.createService(name, { labels: `test=${name}`, "use-private-ip": "true" });
    await eventually(
      async () => {
        const { status } = await this.#world.observer.get<V1Service>(paths.service("default", name));
        expect(status?.loadBalancer?.ingress?.length, `${name} has an address`).toBeGreaterThan(0);
      },
      { timeoutMs: name === "first" ? 60_000 : BOUND_MS },
    );
  }

  async expectGone(name: string): Promise<void> {
    await this.#world.observer.delete(paths.service("default", name));
    await eventually(() => expect(this.balancerOf(name), `${name} is gone`).toBeUndefined(), { timeoutMs: BOUND_MS });
  }

  /** Adds a Node, and waits until it is initialised, has its route, and is a target. */
  async expectNode(index: number): Promise<void> {
    await this.#world.addNode(index);
    await eventually(
      async () => {
        const node = await this.#world.observer.get<V1Node>(paths.node(`node-${index}`));
        expect(node.spec?.providerID, "the Node is initialised").toBeDefined();
        const reasons = node.status?.conditions?.map(({ reason }) => reason);
        expect(reasons, "the Node has its route").toContain("RouteCreated");
        expect(this.balancerOf("first")?.targets, "the Node is a target").toHaveLength(index);
      },
      { timeoutMs: BOUND_MS },
    );
  }

  async expectUnharmed(name: string, before: { readonly id: number }): Promise<void> {
    const { metadata } = await this.#world.observer.get<V1Service>(paths.service("default", name));
    const now = this.balancerOf(name);
    expect(now?.id).toBe(before.id);
    expect(now?.labels[SERVICE_UID_LABEL]).toBe(metadata?.uid);
    expect(now?.services.map(({ listen_port }) => listen_port)).toEqual([80]);
    expect(now?.targets).toHaveLength(3);
    const routes = this.#world.cloud.state.networks.get(this.#world.networkId)?.routes ?? [];
    expect(routes.map(({ destination }) => destination).toSorted()).toEqual([
      "10.244.1.0/24",
      "10.244.2.0/24",
      "10.244.3.0/24",
    ]);
  }
}

async function leader(world: World): Promise<string | undefined> {
  const lease = await world.observer.get<V1Lease>(paths.lease("kube-system", "cloud-controller-manager"));
  return lease.spec?.holderIdentity;
}

/** After all Services of the tenant are deleted, only load balancers that it asked to keep or protect remain. */
async function expectNoOrphans(world: World, tenant: Tenant): Promise<void> {
  for (const { metadata } of await tenant.services()) await tenant.remove(metadata?.name ?? "").catch(() => {});
  await eventually(async () => expect(await tenant.services()).toEqual([]), { timeoutMs: 90_000 });
  const owned = () =>
    world.cloud.state.loadBalancers
      .values()
      .filter(
        ({ labels, protection }) => labels[SERVICE_UID_LABEL] !== undefined && !protection.delete && !labels.test,
      );
  await eventually(() => expect(owned().map(({ name }) => name)).toEqual([]), { timeoutMs: 60_000 });
}

/** The changes that take effect at once are over when nothing was written for this long. */
const QUIET_MS = 8_000;
const FLIPPING = Array.from({ length: 10 }, (_, index) => `flips-${index}`);

/** What one tenant's constant changes cost, and what another tenant notices. */
interface Cost {
  /** Changes that the API server accepted, per second. */
  readonly changesPerSecond: number;
  /** Requests to Hetzner per minute, after the initial burst. */
  readonly requestsPerMinute: number;
  /** Milliseconds until a new Service of another tenant is served, without and with the changes. */
  readonly servedMs: { readonly before: number; readonly during: number };
}

/** Waits until the first changes have taken effect, which is later on a busy machine. */
async function burstIsOver({ cloud }: World): Promise<void> {
  const deadline = performance.now() + 120_000;
  for (let writes = -1; writes !== cloud.journal.writes.length && performance.now() < deadline; ) {
    writes = cloud.journal.writes.length;
    await setTimeout(QUIET_MS);
  }
}

/** One tenant changes ten Services as fast as the API server allows; meanwhile another creates one. */
export async function costOfFlipping(forMs: number): Promise<Cost> {
  await using world = await startWorld({ nodes: 1 });
  world.startController(["--resync=60s"]);
  const good = new GoodTenant(world);
  const tenant = await Tenant.enter(world);
  await good.expectServed("first");
  await Promise.all(FLIPPING.map((name) => tenant.serve(name)));
  await eventually(() => expect(world.cloud.state.loadBalancers.values()).toHaveLength(11), { timeoutMs: 60_000 });
  const before = await timeOf(() => good.expectServed("before"));

  let changes = 0;
  let isOver = false;
  const flip = async (name: string) => {
    for (let n = 0; !isOver; n += 1) {
      const value = n % 2 === 0 ? "least_connections" : "round_robin";
      const annotations = { "load-balancer.hetzner.cloud/algorithm-type": value };
      await tenant.patch(name, { metadata: { annotations } });
      changes += 1;
    }
  };
  const flipping = Promise.all(FLIPPING.map(flip));
  const started = performance.now();
  await burstIsOver(world);
  world.cloud.journal.clear();
  await setTimeout(forMs);
  const requests = world.cloud.journal.entries.length;
  const during = await timeOf(() => good.expectServed("during"));
  isOver = true;
  await flipping;
  return {
    changesPerSecond: changes / ((performance.now() - started) / 1_000),
    requestsPerMinute: requests / (forMs / 60_000),
    servedMs: { before, during },
  };
}

/** The bounds of issue 18: fewer than 30 requests a minute, and another tenant's new Service about as fast as before. */
export function expectCheap({ changesPerSecond, requestsPerMinute, servedMs }: Cost): void {
  expect(changesPerSecond, "changes per second").toBeGreaterThan(5);
  expect(requestsPerMinute, "requests per minute").toBeLessThan(30);
  expect(servedMs.during, "another tenant's Service").toBeLessThan(servedMs.before * 2 + 3_000);
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
