import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SERVICE_UID_LABEL } from "../../stacks/names.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { type FlakyWire, startFlakyWire } from "../support/flaky-wire.ts";
import { startWorld, type World } from "../support/world.ts";

describe("watches over a bad wire", () => {
  let world: World;
  let wire: FlakyWire;
  let controller: ControllerProcess;

  beforeAll(async () => {
    world = await startWorld({ nodes: 1, cloud: { rateLimit: "off" } });
    wire = await startFlakyWire(Number(new URL(world.cluster.url).port));
    const kubeconfig = join(world.cluster.dir, "kubeconfig-over-the-wire");
    const direct = await readFile(world.kubeconfig, "utf8");
    await writeFile(kubeconfig, direct.replaceAll(world.cluster.url, `https://127.0.0.1:${wire.port}`), {
      mode: 0o600,
    });
    // Resyncs are rare, so that what is seen is seen by the watch.
    controller = world.startController(["--kubeconfig", kubeconfig, "--resync=600"]);
    await eventually(() => expect(controller.records("controller running")).toHaveLength(1), { timeoutMs: 60_000 });
    await served("first");
  });
  afterAll(async () => {
    await wire?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  /** Creates a Service, waits for its balancer, and returns how long that took. */
  async function served(name: string, timeoutMs = 60_000): Promise<number> {
    const began = performance.now();
    const { metadata } = await world.createService(name);
    const owners = () => world.cloud.state.loadBalancers.values().map(({ labels }) => labels[SERVICE_UID_LABEL]);
    await eventually(() => expect(owners()).toContain(metadata?.uid), { timeoutMs });
    return performance.now() - began;
  }
  const relists = () => controller.records("watch interrupted, trying again").length;

  it("go on after all connections were dropped", async () => {
    wire.drop();
    await served("dropped", 15_000);
    expect(relists()).toBeGreaterThan(0);
  });

  it("go on after a restart of the API server", async () => {
    await world.cluster.restartApiServer();
    await served("restarted", 20_000);
  });

  it("notice a connection that is only half open, and act on what they missed", async () => {
    wire.silence();
    await served("half-open", 75_000);
  }, 120_000);

  it("go on after everything was silent, and never delete anything for it", async () => {
    const before = world.cloud.state.loadBalancers.values().length;
    wire.silenceAll(true);
    const waiting = served("silent", 90_000);
    await eventually(
      () => expect(controller.records("watch interrupted, trying again").at(-1)?.error).toContain("no answer"),
      {
        timeoutMs: 75_000,
      },
    );
    wire.drop();
    wire.silenceAll(false);
    await waiting;
    expect(world.cloud.state.loadBalancers.values().length).toBe(before + 1);
    expect(world.cloud.journal.count({ method: "DELETE" })).toBe(0);
  }, 150_000);
});
