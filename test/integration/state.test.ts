import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SecretState } from "../../controller/kube/state-secrets.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
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
      await store("shapes", 1_000).save(text);
      expect(await store("shapes", 1_000).load()).toBe(text);
    }
  });

  it("is undefined at first, and unreadable if its parts belong to different generations or are damaged", async () => {
    const writer = store("torn", 100);
    expect(await writer.load()).toBeUndefined();
    const first = "/api/v1/namespaces/kube-system/secrets/lotse-state-torn";
    const damages = [
      [`${first}-1`, { generation: "older" }],
      [first, { parts: "4294967296" }],
      [first, { parts: "-1" }],
      [first, { state: "not compressed" }],
    ] as const;
    for (const [path, data] of damages) {
      await writer.save(randomBytes(300).toString("hex"));
      const entries = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
      await world.observer.patch(path, "merge", { data: Object.fromEntries(entries) });
      await expect(store("torn", 100).load()).rejects.toMatchObject({ code: "state-unreadable" });
      await world.observer.delete(first);
    }
  });

  it("rejects a writer that has not read the newest version", async () => {
    const [stale, fresh] = [store("race"), store("race")];
    await stale.save("one");
    await fresh.save("two");
    await expect(stale.save("three")).rejects.toMatchObject({ status: 409 });
    expect(await store("race").load()).toBe("two");
  });

  it("is recreated after it was deleted", async () => {
    const writer = store("deleted");
    await writer.save("one");
    await world.core.deleteNamespacedSecret({ namespace: "kube-system", name: "lotse-state-deleted" });
    await writer.save("two");
    expect(await store("deleted").load()).toBe("two");
  });
});

describe("the mirror", () => {
  let bucket: string;
  let pulumi: (...args: string[]) => Promise<string>;
  beforeAll(async () => {
    bucket = await mkdtemp(join(tmpdir(), "lotse-backend-"));
    const { paths, pulumiHome } = await ensureToolchain(["pulumi", "pulumi-resource-hcloud"]);
    await writeFile(join(bucket, "Pulumi.yaml"), "name: lotse\nruntime: nodejs\n");
    const env = {
      PATH: process.env.PATH,
      HOME: bucket,
      USER: "me",
      PULUMI_HOME: pulumiHome,
      PULUMI_BACKEND_URL: `file://${bucket}`,
      PULUMI_CONFIG_PASSPHRASE: "",
      PULUMI_SKIP_UPDATE_CHECK: "true",
      HCLOUD_TOKEN: world.cloud.token,
      HCLOUD_ENDPOINT: world.cloud.url,
    };
    pulumi = async (...args) => {
      const all = [...args, "--stack", "kubernetes", "--non-interactive"];
      return (await promisify(execFile)(paths.pulumi, all, { cwd: bucket, env })).stdout;
    };
  });
  afterAll(() => rm(bucket, { recursive: true, force: true }));

  const isServed = (name: string) =>
    eventually(
      async () => {
        const { status } = await world.core.readNamespacedService({ namespace: "default", name });
        expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
      },
      { timeoutMs: 20_000 },
    );
  const saved = () => new SecretState(world.observer, "kube-system", "kubernetes").load();
  const shows = (text: string, read = saved) =>
    eventually(async () => expect(await read()).toContain(text), { timeoutMs: 20_000 });
  const inBucket = () => readFile(join(bucket, ".pulumi", "stacks", "lotse", "kubernetes.json"), "utf8");

  it("is in Secrets by default, with every unit and output, also one that changes alone, and overwrites one of a newer format", async () => {
    await new SecretState(world.observer, "kube-system", "kubernetes").save(JSON.stringify({ version: 99 }));
    const first = world.startController();
    await world.createService("web");
    await isServed("web");
    await shows('"default/web":{"uid"');
    await first.stop();
    const second = world.startController();
    await world.createService("other");
    await isServed("other");
    await shows("load-balancer/default/other@");
    const state = (await saved()) ?? "";
    expect(state).toContain("load-balancer/default/web@");
    expect(state).not.toContain(world.cloud.token);
    const { latest } = JSON.parse(state).checkpoint;
    expect(latest.resources[0].outputs).toMatchObject({
      schemaVersion: 1,
      nodes: { "node-1": { kind: "cloud", podCIDRs: ["10.244.1.0/24"] } },
      routes: { "10.244.1.0/24": { node: "node-1" } },
    });
    expect(second.records("state not saved, retrying")).toEqual([]);

    const runs = second.records("run finished").length;
    const key = "/metadata/annotations/load-balancer.hetzner.cloud~1hostname";
    const body = [{ op: "add", path: key, value: "web.example.com" }];
    await world.core.patchNamespacedService({ namespace: "default", name: "web", body });
    await shows("web.example.com");
    expect(second.records("run finished"), "a change of outputs alone starts no run").toHaveLength(runs);
    await second.stop();
  });

  it("shows Nodes without a run when only their controllers work, and loses what no longer exists", async () => {
    await world.core.deleteNamespacedSecret({ namespace: "kube-system", name: "lotse-state-kubernetes" });
    const controller = world.startController(["--controllers=cloud-node"]);
    await shows('"node-1":{"providerID"');
    expect(await saved()).not.toContain("load-balancer/default");
    expect(controller.records("run finished")).toEqual([]);
    await controller.stop();
  });

  it("is an ordinary stack in a Pulumi backend: refresh finds it unchanged, destroy removes nothing", async () => {
    const controller = world.startController([`--state=file://${bucket}`]);
    await shows("load-balancer/default/other@", inBucket);
    expect(JSON.parse(await pulumi("stack", "output", "--json"))).toMatchObject({
      schemaVersion: 1,
      services: { "default/web": { ports: [{ port: 80 }] } },
    });
    expect(await pulumi("refresh", "--preview-only", "--diff")).toMatch(/Resources:\n {4}\d+ unchanged/);
    const before = JSON.stringify(world.cloud.snapshot());
    await pulumi("destroy", "--yes", "--skip-preview");
    expect(JSON.stringify(world.cloud.snapshot())).toBe(before);
    expect(await inBucket()).not.toContain("load-balancer/default/web@");

    await pulumi("stack", "rm", "--yes", "--force");
    await world.createService("third");
    await isServed("third");
    await shows("load-balancer/default/third@", inBucket);
    expect(controller.records("state not saved, retrying")).toEqual([]);
    await controller.stop();
  });
});
