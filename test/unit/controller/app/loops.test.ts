import { expect, it, vi } from "vitest";
import { openLoops } from "../../../../controller/app/controller.ts";
import { Telemetry } from "../../../../controller/app/telemetry.ts";
import { loadConfig } from "../../../../controller/config/config.ts";
import { Pace } from "../../../../controller/guard/pace.ts";
import { aCloud } from "../../../support/fake-cloud.ts";
import { aLog } from "../../../support/log.ts";

it.each([
  ["starts for a change of a Node that may change a load balancer", "true", 1],
  ["does not start where load balancers and routes are turned off", "false", 0],
])("the engine %s", async (_, enabled, count) => {
  const config = loadConfig({}, { HCLOUD_TOKEN: "t".repeat(64), HCLOUD_LOAD_BALANCERS_ENABLED: enabled });
  const observed = { nodes: [], services: [] };
  const engine = { prepare: vi.fn() };
  const parts = {
    config,
    log: aLog().log,
    telemetry: new Telemetry(config),
    watches: { observer: { nodes: () => observed.nodes }, observed: () => observed },
    pace: new Pace(),
    ...aCloud(),
    gateway: { reserve: () => ({ endpoint: "", token: "" }), budget: { remaining: 1, limit: 1 } },
    engine,
    patcher: { readService: async () => undefined },
    publish: async () => [],
    reports: {},
  };
  const { loops, wake } = openLoops(parts as unknown as Parameters<typeof openLoops>[0]);
  loops.start();
  wake("nodes", "cluster");
  await loops.stop(0, async () => {});
  expect(engine.prepare).toHaveBeenCalledTimes(count);
});
