/** `npm start -- --real`, and a cluster whose kubelets do not wait for a cloud controller, for comparison. */
import { execSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readHierarchies } from "../../dev-env/nodes/machine/cgroups.ts";
import { cacheRoot } from "../../dev-env/toolchain/cache.ts";
import { eventually } from "../support/eventually.ts";
import { RealDemo } from "../support/real-demo.ts";
import { anEcho, podsOf, startRealWorld } from "../support/real-world.ts";

/** Two worlds at once, beside those of other tests. */
const LONG = { timeout: 300_000 };

/** Which of these worlds still have folders or cgroups. */
async function remainsOf(worlds: readonly string[]): Promise<readonly string[]> {
  const places = [join(cacheRoot(process.env), "worlds"), ...(await readHierarchies()).map(({ path }) => path)];
  return places.flatMap((place) => readdirSync(place).filter((name) => worlds.includes(name)));
}

describe("the demo with real nodes", () => {
  let demos: readonly RealDemo[] = [];
  afterEach(() => Promise.all(demos.map((demo) => demo.end("SIGKILL"))));
  /** Runs the curl commands that the demo suggests. */
  const reports = (demo: RealDemo | undefined) =>
    (demo?.suggestions ?? [])
      .filter((command) => command.includes(" curl "))
      .map((command) => JSON.parse(execSync(command.replace("curl", "curl --silent"), { encoding: "utf8" })));

  it("runs twice at once, shows what the controller changes, and leaves nothing behind", LONG, async () => {
    demos = [new RealDemo(), new RealDemo()];
    await Promise.all(demos.map((demo) => demo.ready()));
    for (const demo of demos) {
      expect(demo.output).toMatch(/default\/web is Pending. FailedScheduling: .*untolerated taint/);
      // The demo follows the controller's log, which may arrive after it is ready.
      await eventually(() => {
        expect(demo.output).toMatch(/node-1 initialised.*taint removed/);
        expect(demo.output).toContain("10.244.0.0/24 created");
      });
      expect(reports(demo)).toMatchObject([{ host: "198.19.0.1:8080", path: "/" }]);
    }
    const scripts = demos.map(({ script }) => script);
    const worlds = demos.map(({ world }) => world);
    expect((await remainsOf(worlds)).length).toBeGreaterThan(2);
    const [first, second] = demos;
    await first?.end("SIGKILL");
    expect(reports(second)).toHaveLength(1);
    await second?.end("SIGTERM");
    await eventually(async () => {
      expect(await remainsOf(worlds)).toEqual([]);
      expect(scripts.filter((file) => existsSync(file))).toEqual([]);
    });
  });
});

it("a cluster without an external cloud provider starts pods at once, but has neither ProviderIDs nor routes", async () => {
  await using world = await startRealWorld({ isCloudExternal: false, servers: ["node-1", "node-2"] });
  await world.apply(anEcho("Deployment", "web", {}, 2));
  await eventually(async () => expect(await podsOf(world, "web")).toHaveLength(2), { timeoutMs: 60_000 });
  const { items } = JSON.parse(await world.kubectl("get", "nodes", "--output=json"));
  expect(items.map((node: { spec: { providerID?: string } }) => node.spec.providerID)).toEqual([undefined, undefined]);
  expect(await world.network.routes()).not.toContain("10.244.");
});
