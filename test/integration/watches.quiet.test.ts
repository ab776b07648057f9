import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { V1Node } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { paths } from "../../controller/kube/paths.ts";
import { findFreePort } from "../../dev-env/cluster/loopback.ts";
import { requestsOf } from "../support/audit-log.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { type FlakyWire, startFlakyWire } from "../support/flaky-wire.ts";
import { askSecurePort } from "../support/secure-port.ts";
import { startWorld, type World } from "../support/world.ts";

/** One second until the event arrives, and one more until a busy machine has handled it. */
const HANDLED_MS = 2_000;
/** The longest watch with its grace, and staleness: a third of the values in production (controller/work/timings.ts). */
const HALF_OPEN_MS = 20_000 / 3 + 500;
const RED_MS = 30_000 / 3 + 5_000;

/**
 * Taken in turn. The controller's copy of the node may still lack the one before: it would restore that one without having
 * heard of anything.
 */
const LABELS = ["node.kubernetes.io/instance-type", "topology.kubernetes.io/region"] as const;

describe("watches over a faulty connection", () => {
  let world: World;
  let wire: FlakyWire;
  let controller: ControllerProcess;
  let securePort: number;

  beforeAll(async () => {
    world = await startWorld({ nodes: 1, cloud: { rateLimit: "off" }, isAudited: true, isQuick: true });
    wire = await startFlakyWire(Number(new URL(world.cluster.url).port));
    securePort = await findFreePort();
    const kubeconfig = join(world.cluster.dir, "kubeconfig-over-the-wire");
    const direct = await readFile(world.kubeconfig, "utf8");
    await writeFile(kubeconfig, direct.replaceAll(world.cluster.url, `https://127.0.0.1:${wire.port}`), {
      mode: 0o600,
    });
    await world.createService("web");
    const secure = [`--secure-port=${securePort}`, "--bind-address=127.0.0.1"];
    controller = world.startController(["--kubeconfig", kubeconfig, "-v=2", ...secure]);
    await eventually(() => expect(balancer()?.services).toHaveLength(1), { timeoutMs: 90_000 });
    await eventually(expectLabels);
  });
  afterAll(async () => {
    await wire?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const balancer = () => world.cloud.state.loadBalancers.values()[0];
  const readyz = () => askSecurePort(securePort, "/readyz?verbose");
  const expectLabels = async () => {
    const { metadata } = await world.observer.get<V1Node>(paths.node("node-1"));
    expect(Object.keys(metadata?.labels ?? {})).toEqual(expect.arrayContaining([...LABELS]));
  };
  const interruptions = () => controller.records("watch interrupted, retrying");
  let taken = 0;
  /** Takes a label from the node. The controller's own copy of the node has it until the watch says otherwise. */
  const takeLabel = () => {
    const label = LABELS[taken++ % 2] as string;
    return world.observer.patch(paths.node("node-1"), "merge", { metadata: { labels: { [label]: null } } });
  };
  /** Milliseconds until the label is restored, because the controller has handled an event. */
  async function handled(since: number, withinMs = HANDLED_MS): Promise<number> {
    await eventually(expectLabels, { timeoutMs: withinMs + 10_000, intervalMs: 20 });
    return performance.now() - since;
  }
  /** Removes the label, and measures the time until it is restored. */
  async function takenNow(withinMs = HANDLED_MS): Promise<number> {
    const since = performance.now();
    await takeLabel();
    return handled(since, withinMs);
  }

  it("deliver events at once after all connections were dropped", async () => {
    const before = interruptions().length;
    wire.drop();
    expect(await takenNow()).toBeLessThan(HANDLED_MS);
    expect(interruptions().length).toBeGreaterThan(before);
  });

  it("deliver events at once after a restart of the API server", async () => {
    await world.cluster.restartApiServer();
    expect(await takenNow()).toBeLessThan(HANDLED_MS);
  });

  it("deliver missed events at once after their resourceVersion has expired", async () => {
    wire.cut(true);
    await takeLabel();
    await world.cluster.restartApiServer();
    const before = controller.records("watch expired, relisting").length;
    wire.cut(false);
    expect(await handled(performance.now())).toBeLessThan(HANDLED_MS);
    expect(controller.records("watch expired, relisting").length).toBeGreaterThan(before);
  });

  it("deliver events at once after a paused API server resumes", async () => {
    const before = interruptions().length;
    world.cluster.apiServer.pause();
    try {
      await eventually(() => expect(interruptions().length).toBeGreaterThan(before), {
        timeoutMs: HALF_OPEN_MS + 5_000,
      });
    } finally {
      world.cluster.apiServer.resume();
    }
    expect(await takenNow()).toBeLessThan(HANDLED_MS);
  }, 60_000);

  it("tolerate a latency of seconds, and recover with it", async () => {
    wire.delay(800);
    wire.drop();
    try {
      // A handshake and a probe, another handshake for the watch, and the patch: 1.6 seconds each.
      expect(await takenNow(40_000), "the wire is slow").toBeGreaterThan(4_000);
    } finally {
      wire.delay(0);
    }
    expect(await takenNow()).toBeLessThan(HANDLED_MS);
  }, 90_000);

  /** Waits until the controller has given up every half-open connection, whichever requests they carried. */
  const allNoticed = () =>
    eventually(() => expect(wire.halfOpen, "half-open connections").toBe(0), { timeoutMs: HALF_OPEN_MS });

  it("detect a half-open connection within the documented time, and deliver missed events", async () => {
    wire.silence();
    expect(wire.halfOpen).toBeGreaterThan(0);
    expect(await takenNow(HALF_OPEN_MS + HANDLED_MS)).toBeLessThan(HALF_OPEN_MS + HANDLED_MS);
    await allNoticed();
    expect((await readyz()).status).toBe(200);
  }, 60_000);

  it("are as quick if the response to a request was lost with the connection", async () => {
    wire.delay(300);
    try {
      await takeLabel();
      await eventually(expectLabels, { intervalMs: 20 });
    } finally {
      // The label is restored, and the controller still waits for the response to its patch.
      wire.silence();
      wire.delay(0);
    }
    expect(await takenNow(HALF_OPEN_MS + HANDLED_MS)).toBeLessThan(HALF_OPEN_MS + HANDLED_MS);
    await allNoticed();
  }, 60_000);

  it("are as quick after a long idle period", async () => {
    const renewals = () =>
      requestsOf(world.cluster).filter(({ verb, resource }) => verb === "watch" && resource === "nodes").length;
    const renewed = (count: number) =>
      eventually(() => expect(renewals()).toBeGreaterThanOrEqual(count), { timeoutMs: 60_000 });
    const before = renewals();
    await renewed(before + 1); // by then, the log has all interruptions of the tests before
    const interrupted = interruptions().length;
    await renewed(before + 3);
    expect(interruptions()).toHaveLength(interrupted);
    expect((await readyz()).status).toBe(200);
    expect(await takenNow()).toBeLessThan(HANDLED_MS);
  }, 90_000);

  it("make the controller unready if they fail, stop writes to the cloud, and recover", async () => {
    wire.silenceAll(true);
    await eventually(
      async () => {
        const { status, body } = await readyz();
        expect(status).toBe(500);
        expect(body).toMatch(/^\[-\]caches failed: no contact with the API server for 1\d s$/m);
      },
      { timeoutMs: RED_MS },
    );

    // According to its stale cache, the controller should repair this load balancer.
    await world.core.deleteNamespacedService({ namespace: "default", name: "web" });
    await world.changeCloud("POST", `/load_balancers/${balancer()?.id}/actions/delete_service`, { listen_port: 80 });
    await takeLabel();
    const [writes, refusals] = [world.cloud.journal.writes.length, refused().length];
    await eventually(() => expect(refused().length).toBeGreaterThan(refusals + 1), { timeoutMs: 60_000 });
    expect(world.cloud.journal.writes.slice(writes)).toEqual([]);
    expect(balancer()?.services).toEqual([]);

    wire.silenceAll(false);
    const since = performance.now();
    expect(await handled(since)).toBeLessThan(HANDLED_MS);
    await eventually(async () => expect((await readyz()).status).toBe(200), { timeoutMs: HANDLED_MS });
    await eventually(() => expect(balancer()).toBeUndefined());
    const made = world.cloud.journal.writes.slice(writes).filter(({ method }) => method !== "DELETE");
    expect(made.filter(({ path }) => !/remove|detach|delete/.test(path))).toEqual([]);
  }, 150_000);

  /** Turns that were skipped because of stale data. */
  const refused = () =>
    controller
      .records("turn failed, retrying")
      .filter(({ loop, error }) => loop === "cluster" && /no changes until it responds again/.test(String(error)));
});
