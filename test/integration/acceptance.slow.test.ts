/** `npm run test:e2e` in a cluster that others use, too. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { STEPS } from "../account/steps/list.ts";
import { officialStarter } from "../bench/controllers.ts";
import { eventually } from "../support/eventually.ts";
import { startSuite } from "../support/suite.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
let folder: string;
/** HCCM's binary. */
const OFFICIAL = process.env.LOTSE_OFFICIAL;
const inCluster = STEPS.filter(({ needs }) => needs !== "project");

/** Runs the suite. `cloud` is what it may see of the project. */
const start = (args: readonly string[], cloud: Readonly<Record<string, string | undefined>> = {}) =>
  startSuite("cluster", ["--kubeconfig", world.cluster.kubeconfig, "--junit", join(folder, "e2e.xml"), ...args], {
    HCLOUD_TOKEN: undefined,
    HCLOUD_ENDPOINT: undefined,
    ...cloud,
  });
const results = () => readFile(join(folder, "e2e.xml"), "utf8");
const serviceNames = async () => {
  const { items } = await world.core.listServiceForAllNamespaces();
  return items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`).toSorted();
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lotse-e2e-"));
  world = await startWorld({ nodes: 2, isQuick: true, cloud: { dataPlane: { timeScale: 0.01 } } });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

it("fails without a controller, says what is missing, and leaves nothing behind", async () => {
  const suite = start(["--timeout", "1"]);
  expect(await suite.ended, suite.output()).toBe(1);
  const xml = await results();
  expect(xml).toContain("Node node-1 has the providerID none");
  expect(xml).toContain('<skipped message="depends on tcp, which was failed"/>');
  expect(xml).toContain('<skipped message="needs --image, an HTTP server on port 80 such as nginx"/>');
  expect(xml.match(/<testcase /g)).toHaveLength(inCluster.length);
  expect(await serviceNames()).toEqual(["default/kubernetes"]);
});

it("says that the cluster does not answer, and which file to check", async () => {
  const suite = start(["--kubeconfig", "/nowhere"]);
  expect(await suite.ended).toBe(1);
  expect(suite.output()).toContain("the cluster of /nowhere does not answer");
});

it("rejects a wrong token before it creates anything", async () => {
  const suite = start([], { HCLOUD_TOKEN: "short", HCLOUD_ENDPOINT: world.cloud.url });
  expect(await suite.ended).toBe(1);
  expect(suite.output()).toMatch(/unauthorized.*check HCLOUD_TOKEN/);
  expect(suite.output()).not.toContain("namespace lotse-e2e-");
});

describe("with a controller, and a Service of others", () => {
  beforeAll(async () => {
    await world.createService("theirs");
    world.startController();
    world.startPods();
    await eventually(() => expect(world.cloud.state.loadBalancers.values()).toHaveLength(1));
  });

  it("passes, looks into the project with a token, and leaves everything as it was", async () => {
    const before = world.cloud.state.loadBalancers.values().map(({ id }) => id);
    const suite = start(["--timeout", "60", "--image", "nginx"], {
      HCLOUD_TOKEN: world.cloud.token,
      HCLOUD_ENDPOINT: world.cloud.url,
    });
    expect(await suite.ended, suite.output()).toBe(0);
    expect(await results()).toMatch(new RegExp(`tests="${inCluster.length}" failures="0" skipped="0"`));
    expect(await serviceNames()).toEqual(["default/kubernetes", "default/theirs"]);
    expect(world.cloud.state.loadBalancers.values().map(({ id }) => id)).toEqual(before);
  });

  it("removes its load balancers after Ctrl-C, and with --clean after it was killed", async () => {
    for (const signal of ["SIGINT", "SIGKILL"] as const) {
      const suite = start([]);
      const hasTwo = () => expect(world.cloud.state.loadBalancers.values(), suite.output()).toHaveLength(2);
      await eventually(hasTwo, { timeoutMs: 60_000 });
      suite.child.kill(signal);
      expect(await suite.ended).toBe(signal === "SIGINT" ? 130 : null);
      if (signal === "SIGKILL") expect(await start(["--clean"]).ended).toBe(0);
      expect(world.cloud.state.loadBalancers.values(), signal).toHaveLength(1);
      expect(await serviceNames()).toEqual(["default/kubernetes", "default/theirs"]);
    }
  });
});

it.skipIf(OFFICIAL === undefined)(
  "passes with the official controller, in a cluster of its own",
  { timeout: 300_000 },
  async () => {
    await using other = await startWorld({ nodes: 2, cloud: { dataPlane: { timeScale: 0.01 } } });
    const official = officialStarter(OFFICIAL ?? "", 1)(other);
    other.startPods();
    try {
      const access = { HCLOUD_TOKEN: other.cloud.token, HCLOUD_ENDPOINT: other.cloud.url };
      const suite = start(["--kubeconfig", other.cluster.kubeconfig, "--timeout", "60", "--image", "nginx"], access);
      expect(await suite.ended, suite.output()).toBe(0);
      expect(other.cloud.state.loadBalancers.values()).toEqual([]);
    } finally {
      await official.stop();
    }
  },
);
