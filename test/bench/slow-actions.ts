/** Scenarios in which an action of one or several load balancers takes 40 seconds: nothing else may wait for it. */
import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import type { World } from "../support/world.ts";
import { API, addNodes, createServices, measure, routed, type Scenario, served, settled } from "./work.ts";

const SLOW_MS = 40_000;
const NODES = 10;
const patience = { timeoutMs: 120_000, intervalMs: 20 };

export const SLOW_ACTIONS: readonly Scenario[] = [...slowRows(1, "one action"), ...slowRows(10, "ten actions")];

/** HCCM works on one Service at a time and needs many minutes for ten slow ones, so it is measured in one of those rows only. */
function slowRows(count: number, what: string): readonly Scenario[] {
  const verb = count === 1 ? "takes" : "take";
  const twice = (of: string) => ({ times: { factor: 2, of } });
  return [
    {
      name: `${what} ${verb} 40 s: another Service`,
      target: twice("one Service → ingress in status"),
      isComparable: true,
      run: (start) => measure(slow(count), start, (world) => anotherService(world, count)),
    },
    {
      name: `${what} ${verb} 40 s: the route of a new node`,
      target: twice("10 nodes join: all routes exist"),
      isComparable: count === 1,
      run: (start) =>
        measure(slow(count), start, async (world) => {
          await addNodes(world, NODES, 1);
          await routed(world, NODES + 1);
        }),
    },
    {
      name: `${what} took 40 s: the next Service afterwards`,
      target: twice("one Service → ingress in status"),
      isComparable: count === 1,
      run: (start) => {
        const setting = slow(count);
        const prepare = async (world: World) => {
          await setting.prepare(world);
          await eventually(() => assert.deepEqual(unfinished(world), []), patience);
          await settled(world, count, NODES);
        };
        return measure({ ...setting, prepare }, start, (world) => anotherService(world, count));
      },
    },
  ];
}

/** A world in which this many load balancers are being changed, which takes long. */
const slow = (count: number) => ({
  cloud: API,
  nodes: NODES,
  balancers: count,
  prepare: async (world: World) => {
    const effect = { kind: "slow-action", ms: SLOW_MS } as const;
    world.cloud.faults.add({ method: "POST", path: "/load_balancers/*/actions/add_service", times: count, effect });
    const more = { spec: { ports: [{ name: "p81", port: 81, protocol: "TCP" }] } };
    for (let index = 1; index <= count; index += 1)
      await world.observer.patch(`/api/v1/namespaces/default/services/old-${index}`, "strategic-merge", more);
    // HCCM works on one Service at a time and does not reach the others.
    await eventually(() => assert.ok(unfinished(world).length > 0), patience);
  },
});

const unfinished = (world: World) => world.cloud.state.actions.values().filter(({ status }) => status === "running");

async function anotherService(world: World, there: number): Promise<void> {
  await createServices(world, "new", 1);
  await served(world, there + 1);
}
