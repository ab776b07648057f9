/** A simulated cloud with a very large project. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Cloud } from "../../dev-env/cloud/cloud.ts";
import { SERVERS, send, startLargeCloud } from "../support/large-cloud.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** `npm run bench -- --only pages` measures the speed of its lists. */
describe("a large project", () => {
  let cloud: Cloud;
  beforeAll(async () => {
    cloud = await startLargeCloud();
  });
  afterAll(() => cloud?.stop());

  test("a snapshot survives JSON", () => {
    cloud.restore(JSON.parse(JSON.stringify(cloud.snapshot())));
    expect(cloud.state.servers.size).toBe(SERVERS);
  });

  test("memory stays bounded over thousands of writes", async () => {
    const id = cloud.state.loadBalancers.find("lb-0")?.id;
    const cycle = async (times: number) => {
      for (let n = 0; n < times; n += 1) {
        const type = n % 2 ? "round_robin" : "least_connections";
        await send(cloud, "POST", `/load_balancers/${id}/actions/change_algorithm`, { type });
      }
      collectGarbage();
      return process.memoryUsage().heapUsed / 2 ** 20;
    };
    const before = await cycle(1000);
    const after = await cycle(4000);
    expect(after - before).toBeLessThan(30);
    expect(after).toBeLessThan(400);
  });
});
