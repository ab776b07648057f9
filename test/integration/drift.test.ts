import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
let controller: ControllerProcess;
beforeAll(async () => {
  world = await startWorld({ nodes: 3 });
  controller = world.startController();
  await world.createService("web");
  await eventually(
    async () => {
      expect(balancer()?.targets).toHaveLength(3);
      const { status } = await world.core.readNamespacedService({ namespace: "default", name: "web" });
      expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
    },
    { timeoutMs: 20_000 },
  );
});
afterAll(() => world[Symbol.asyncDispose]());

const balancer = () => world.cloud.state.loadBalancers.values()[0];
const settled = (check: () => Promise<void> | void) => eventually(check, { timeoutMs: 20_000 });
/** Events of one reason about an object, with their counts. */
async function events(name: string, reason: string) {
  return (await world.events())
    .filter((event) => event.involvedObject.name === name && event.reason === reason)
    .map(({ message, count }) => ({ message, count }));
}

describe("a change by hand", () => {
  const spoil = () =>
    world.changeCloud("POST", `/load_balancers/${balancer()?.id}/actions/change_algorithm`, {
      type: "least_connections",
    });
  const repairs = () => controller.records("cloud changed").filter(({ part }) => part === "balancer");
  /** Resolves when the repair is proven: when the run that made it has finished. Other runs do not count. */
  const spoilAndRepair = async () => {
    const before = repairs().length;
    await spoil();
    await settled(() => expect(balancer()?.algorithm.type).toBe("round_robin"));
    await settled(() => {
      const [repair] = repairs().slice(before);
      expect(controller.records("run finished").map(({ run }) => run)).toContain(repair?.run ?? "no run");
    });
  };
  const text =
    "Load balancer was changed outside the cluster and is being repaired: algorithm was changed to least_connections.";

  it("is reported at each repair, also at once after the last one, and asks who does it (B8)", async () => {
    for (let repair = 1; repair <= 2; repair++) {
      await spoilAndRepair();
      await settled(async () =>
        expect(await events("web", "LoadBalancerDrifted")).toEqual([{ message: text, count: repair }]),
      );
    }
    await spoilAndRepair();
    const again = " It was changed again, at least 3 times in an hour: does something else manage it?";
    await settled(async () =>
      expect(await events("web", "LoadBalancerDrifted")).toContainEqual({ message: text + again, count: 1 }),
    );
  });

  it("has the reason drift in the record", async () => {
    await settled(async () => {
      const map = await world.core.readNamespacedConfigMap({
        namespace: "kube-system",
        name: "lotse-audit-kubernetes",
      });
      expect(map.data?.entries).toContain('"reason":"drift: it was changed outside the cluster"');
    });
  });
});

it("a deleted load balancer is named, and so is the consequence (W15)", async () => {
  const { id, name } = balancer() ?? expect.unreachable();
  await world.changeCloud("DELETE", `/load_balancers/${id}`);
  await settled(async () => {
    const messages = (await events("web", "LoadBalancerDrifted")).map(({ message }) => message ?? "");
    expect(messages.some((message) => message.startsWith(`Load balancer ${name} (id ${id}) was deleted`))).toBe(true);
  });
  await settled(() => expect(balancer()?.targets).toHaveLength(3));
});

it("a deleted route is reported on its Node", async () => {
  const path = `/networks/${world.networkId}/actions/delete_route`;
  await world.changeCloud("POST", path, { destination: "10.244.1.0/24", gateway: "10.0.1.1" }).catch(async () => {
    const route = world.cloud.state.networks
      .get(world.networkId)
      ?.routes.find((r) => r.destination === "10.244.1.0/24");
    await world.changeCloud("POST", path, route ?? {});
  });
  await settled(async () => expect(await events("node-1", "RouteDrifted")).toHaveLength(1));
  await settled(() => expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(3));
});

it("a deleted server causes neither drift nor failed runs (B12)", async () => {
  const before = await events("web", "LoadBalancerDrifted");
  const failures = () => [...controller.records("unit failed"), ...controller.records("turn failed, retrying")];
  const failedBefore = failures();
  const server = world.cloud.state.servers.find("node-3");
  await world.changeCloud("DELETE", `/servers/${server?.id}`);
  await settled(() => expect(balancer()?.targets).toHaveLength(2));
  // Several turns later everything is still as it should be.
  const looks = () => world.cloud.journal.count({ method: "GET", path: "**/load_balancers" });
  const seen = looks();
  await settled(() => expect(looks()).toBeGreaterThan(seen + 4));
  expect(await events("web", "LoadBalancerDrifted")).toEqual(before);
  expect(failures()).toEqual(failedBefore);
});
