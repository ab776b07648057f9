import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { V1ServiceList } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { paths } from "../../controller/kube/paths.ts";
import { inParallel } from "../../controller/work/parallel.ts";
import { eventually } from "../support/eventually.ts";
import { type FlakyWire, startFlakyWire } from "../support/flaky-wire.ts";
import { startWorld, type World } from "../support/world.ts";

const COUNT = 100;
/** The longest watch with its grace, a third of the value in production: by then deletions are seen. */
const HALF_OPEN_MS = 20_000 / 3 + 500;
const patience = { timeoutMs: 60_000 };

describe("Services that are deleted as soon as they are created (hardening 4)", () => {
  let world: World;
  let wire: FlakyWire;

  beforeAll(async () => {
    world = await startWorld({ nodes: 1, cloud: { rateLimit: "off" }, isQuick: true });
    wire = await startFlakyWire(Number(new URL(world.cluster.url).port));
    const kubeconfig = join(world.cluster.dir, "kubeconfig-over-the-wire");
    const direct = await readFile(world.kubeconfig, "utf8");
    const delayed = direct.replaceAll(world.cluster.url, `https://127.0.0.1:${wire.port}`);
    await writeFile(kubeconfig, delayed, { mode: 0o600 });
    const controller = world.startController(["--kubeconfig", kubeconfig]);
    await eventually(() => expect(controller.records("controller running")).toHaveLength(1), patience);
  });
  afterAll(async () => {
    await wire?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const names = Array.from({ length: COUNT }, (_, index) => `brief-${index}`);
  const remove = (name: string) => world.observer.delete(paths.service("default", name));
  const balancers = () => world.cloud.state.loadBalancers.values().map(({ name }) => name);
  const services = async () => {
    const { items } = await world.observer.get<V1ServiceList>(paths.services);
    return items.flatMap(({ metadata, spec }) => (spec?.type === "LoadBalancer" ? [metadata?.name] : []));
  };
  async function expectNothingLeft(forMs: number): Promise<void> {
    await eventually(async () => expect(await services()).toEqual([]), patience);
    await eventually(() => expect(balancers()).toEqual([]), patience);
    await setTimeout(forMs);
    expect(balancers()).toEqual([]);
  }

  it("leave no load balancer behind", async () => {
    await inParallel(names, 10, async (name) => {
      await world.createService(name);
      await setTimeout(Number(name.slice(6)) * 3); // from at once to after the claim
      await remove(name);
    });
    await expectNothingLeft(1_000);
  });

  it("leave no load balancer behind while watches are silent, so that deletions go unnoticed", async () => {
    await inParallel(names, 20, async (name) => void (await world.createService(name)));
    wire.silence();
    await inParallel(names, 20, async (name) => void (await remove(name)));
    await expectNothingLeft(HALF_OPEN_MS);
  });
});
