import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));
const PREFIX = "load-balancer.hetzner.cloud/";
const OWNER = "hcloud-ccm/service-uid";
const PATIENT = { timeoutMs: 100_000 };

/** One cluster from its first balancer to its last: each test goes on where the one before ended. */
describe("commands that change a cluster", { timeout: 150_000 }, () => {
  let world: World;
  let controller: ControllerProcess;
  const lotse = (...args: readonly string[]) =>
    run(process.execPath, [MAIN, ...args], {
      env: {
        ...process.env,
        KUBECONFIG: world.cluster.kubeconfig,
        HCLOUD_TOKEN: world.cloud.token,
        HCLOUD_ENDPOINT: world.cloud.url,
        HCLOUD_NETWORK: String(world.networkId),
      },
    }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  const service = (name: string) => world.core.readNamespacedService({ namespace: "default", name });
  const balancerOf = async (name: string) => {
    const uid = (await service(name)).metadata?.uid;
    return world.cloud.state.loadBalancers.values().find(({ labels }) => labels[OWNER] === uid);
  };
  const annotate = (name: string, key: string, value: string) =>
    world.core.patchNamespacedService({
      namespace: "default",
      name,
      body: [{ op: "add", path: `/metadata/annotations/${PREFIX.replace("/", "~1")}${key}`, value }],
    });
  const hasAddress = async (name: string) =>
    expect((await service(name)).status?.loadBalancer?.ingress).not.toBeUndefined();

  beforeAll(async () => {
    world = await startWorld({ nodes: 1 });
    controller = world.startController();
    await world.createService("web");
    await eventually(() => hasAddress("web"), PATIENT);
  }, 150_000);
  afterAll(() => world?.[Symbol.asyncDispose]());

  it("undo shows what it would change back, does it, and the cloud follows", async () => {
    await annotate("web", "algorithm-type", "least_connections");
    await eventually(async () => expect((await balancerOf("web"))?.algorithm.type).toBe("least_connections"), PATIENT);
    const shown = await eventually(async () => {
      const looked = await lotse("undo", "default/web");
      expect(looked.code).toBe(2);
      return looked.stdout;
    }, PATIENT);
    expect(shown).toContain(`${PREFIX}algorithm-type: least_connections → nothing`);
    expect((await balancerOf("web"))?.algorithm.type).toBe("least_connections");
    expect((await lotse("undo", "default/web", "--yes")).code).toBe(0);
    expect((await service("web")).metadata?.annotations).not.toHaveProperty(`${PREFIX}algorithm-type`);
    await eventually(async () => expect((await balancerOf("web"))?.algorithm.type).toBe("round_robin"), PATIENT);
  });

  it("undo refuses what cannot be brought back, and what is no Service", async () => {
    expect(await lotse("undo", "default/gone", "--yes")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Service default/gone does not exist: a balancer that was deleted cannot"),
    });
    expect(await lotse("undo", "web")).toMatchObject({ code: 1, stderr: expect.stringContaining("default/web") });
    expect(controller.records("turn failed")).toEqual([]);
  });
});
