/** Runs the commands of docs/explanation/before-and-after.md: without the controller, then with it. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installChart } from "../../dev-env/nodes/chart.ts";
import { provideNodeTools } from "../../dev-env/nodes/tools.ts";
import type { World } from "../../dev-env/nodes/world.ts";
import { Shell } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { startRealWorld } from "../support/real-world.ts";
import { runPage } from "../support/tutorial.ts";

const PAGE = "docs/explanation/before-and-after.md";
const AFTER = "## With the controller";

const NOT_READY = "key: node.kubernetes.io/not-ready";

describe("before and after", () => {
  const ends = new AsyncDisposableStack();
  let world: World;
  let shell: Shell;
  let page: readonly string[];

  beforeAll(async () => {
    page = (await readFile(PAGE, "utf8")).split(AFTER);
    world = ends.use(await startRealWorld());
    const { binDir } = await provideNodeTools();
    shell = ends.use(
      new Shell(process.cwd(), {
        env: {
          PATH: `${binDir}:${process.env.PATH}`,
          KUBECONFIG: world.cluster.kubeconfig,
          HCLOUD_TOKEN: world.cloud.token,
          HCLOUD_ENDPOINT: world.cloud.url,
        },
      }),
    );
    await eventually(async () => expect(await world.kubectl("get", "nodes", "--no-headers")).toMatch(/node-3/));
    await world.kubectl("wait", "nodes", "--all", "--for=condition=Ready", "--timeout=60s");
    // Kubernetes removes this taint a moment later.
    await eventually(async () => expect(await world.kubectl("get", "nodes", "--output=yaml")).not.toMatch(NOT_READY));
  });
  afterAll(() => ends.disposeAsync());

  it("is split in two", () => {
    expect(page).toHaveLength(2);
  });

  it("shows a cluster without the controller", () => runPage(shell, page[0] ?? ""));

  it("shows the same cluster with the controller", async () => {
    await installChart(world, { args: { resync: "10s" } });
    await runPage(shell, page[1] ?? "");
  });
});
