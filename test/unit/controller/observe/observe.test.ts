import { expect, it } from "vitest";
import { CloudError } from "../../../../controller/diagnostics/errors.ts";
import { ImplausibleCloud, observe, type Sources } from "../../../../controller/observe/observe.ts";
import { aNode, aServer } from "../../../support/builders.ts";
import { aCloud } from "../../../support/fake-cloud.ts";

const AGES = { servers: 45_000, loadBalancers: 0, certificates: 0, network: 0 };
const nodes = [1, 2, 3].map((id) => aNode({ id, ready: "True" }));

/** Observes a cloud that lists the servers of these Nodes, or fails. Returns the result, and the ages of all reads. */
async function look(listed: readonly number[], error?: Error) {
  const { view } = aCloud({ servers: listed.map((id) => aServer({ id })) });
  const ages: number[] = [];
  const state: Sources["view"]["state"] = (wanted) => {
    ages.push(wanted.servers);
    return error ? Promise.reject(error) : view.state(wanted);
  };
  const sources = { observed: () => ({ nodes, services: [] }), view: { state, server: view.server.bind(view) } };
  const result = await observe(sources, AGES, new Map()).catch((thrown: unknown) => thrown);
  return { result, ages };
}

it("reads the servers again, however young their list, before it finds the cloud implausible", async () => {
  const { result, ages } = await look([1]);
  expect(result).toBeInstanceOf(ImplausibleCloud);
  expect(ages).toEqual([45_000, 0]);
});

it("does not repeat lists that fail: the gateway has repeated each request until its limit", async () => {
  const error = new CloudError("GET /servers", 429, "rate_limit_exceeded", "limit reached");
  const { result, ages } = await look([1, 2, 3], error);
  expect(result).toBe(error);
  expect(ages).toEqual([45_000]);
});

it("believes what a direct read says about a server, not the list", async () => {
  const { view } = aCloud({ servers: [1, 2, 3].map((id) => aServer({ id })) });
  const direct = aServer({ id: 2, status: "off" });
  const witnesses = new Map([
    [1, undefined],
    [2, direct],
  ]);
  const { cloud } = await observe({ observed: () => ({ nodes, services: [] }), view }, AGES, witnesses);
  expect(cloud.servers).toEqual([aServer({ id: 3 }), direct]);
});
