import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SecretState } from "../../controller/kube/state-secrets.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ nodes: 1 });
});
afterAll(() => world[Symbol.asyncDispose]());

describe("state in Secrets", () => {
  const store = (cluster: string, partBytes?: number) =>
    new SecretState(world.observer, "kube-system", cluster, partBytes);

  it("is loaded as it was saved, also after it shrank and in several Secrets", async () => {
    const large = randomBytes(3_000).toString("hex");
    for (const text of ["{}", large, "small again"]) {
      const writer = store("shapes", 1_000);
      await writer.load();
      await writer.save(text);
      expect(await store("shapes", 1_000).load()).toBe(text);
    }
  });

  it("is undefined at first, and if its parts belong to different generations", async () => {
    const writer = store("torn", 100);
    expect(await writer.load()).toBeUndefined();
    await writer.save(randomBytes(300).toString("hex"));
    const second = "/api/v1/namespaces/kube-system/secrets/lotse-state-torn-1";
    await world.observer.patch(second, "merge", { data: { generation: Buffer.from("older").toString("base64") } });
    expect(await store("torn", 100).load()).toBeUndefined();
  });

  it("rejects a writer that has not read the newest version", async () => {
    const [stale, fresh] = [store("race"), store("race")];
    await stale.load();
    await stale.save("one");
    await fresh.load();
    await fresh.save("two");
    await expect(stale.save("three")).rejects.toMatchObject({ status: 409 });
    expect(await store("race").load()).toBe("two");
  });

  it("is recreated after it was deleted", async () => {
    const writer = store("deleted");
    await writer.load();
    await writer.save("one");
    await world.core.deleteNamespacedSecret({ namespace: "kube-system", name: "lotse-state-deleted" });
    await writer.save("two");
    expect(await store("deleted").load()).toBe("two");
  });
});

describe("a controller's state", () => {
  const isServed = (name: string) =>
    eventually(
      async () => {
        const { status } = await world.core.readNamespacedService({ namespace: "default", name });
        expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
      },
      { timeoutMs: 20_000 },
    );

  it("is in the cluster by default, contains every unit, and is used by the next controller", async () => {
    const first = world.startController();
    await world.createService("web");
    await isServed("web");
    const load = () => new SecretState(world.observer, "kube-system", "kubernetes").load();
    await eventually(async () => expect(await load()).toContain("load-balancer/default/web@"));
    await first.stop();
    const second = world.startController();
    await world.createService("other");
    await isServed("other");
    await eventually(async () => expect(await load()).toContain("load-balancer/default/other@"));
    expect(await load()).toContain("load-balancer/default/web@");
    expect(await load()).not.toContain(world.cloud.token);
    expect(second.records("state not saved, retrying after the next run")).toEqual([]);
    await second.stop();
  });

  it("is saved in a Pulumi backend if configured", async () => {
    const dir = await mkdtemp(join(tmpdir(), "lotse-backend-"));
    try {
      await mkdir(join(dir, "bucket"));
      const controller = world.startController([`--state=file://${join(dir, "bucket")}`]);
      await world.createService("third");
      await isServed("third");
      const file = join(dir, "bucket", ".pulumi", "stacks", "lotse", "kubernetes.json");
      await eventually(async () => expect(await readFile(file, "utf8")).toContain("load-balancer/default/third@"), {
        timeoutMs: 20_000,
      });
      expect(controller.records("state not saved, retrying after the next run")).toEqual([]);
      await controller.stop();
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});
