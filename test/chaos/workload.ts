/** Work that goes on while faults occur, and checks that the result is correct. */
import { expect } from "vitest";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { eventually } from "../support/eventually.ts";
import type { World } from "../support/world.ts";

const COUNT = 8;
const names = Array.from({ length: COUNT }, (_, index) => `app-${index + 1}`);

/** Creates eight load balancers, changes half of them, and deletes three, with a call of `pause` between steps. */
export async function work(world: World, pause: () => Promise<void>): Promise<void> {
  for (const name of names) await world.createService(name, { "use-private-ip": "true" }, [80, 443]);
  await pause();
  for (const name of names.slice(0, 4)) {
    const ports = [80, 8080].map((port) => ({ name: `p${port}`, port }));
    const annotations = { "load-balancer.hetzner.cloud/algorithm-type": "least_connections" };
    await patchService(world, name, { metadata: { annotations }, spec: { ports } });
  }
  await pause();
  for (const name of names.slice(3, 6)) await world.core.deleteNamespacedService({ namespace: "default", name });
  await pause();
}

/** Resources of others, which must not change. */
export interface Foreign {
  check(): void;
}

/** Adds a load balancer and a route of another owner. */
export async function addForeign(world: World): Promise<Foreign> {
  await world.changeCloud("POST", "/load_balancers", {
    name: "foreign",
    load_balancer_type: "lb11",
    location: "fsn1",
    labels: { owner: "else" },
  });
  const route = { destination: "10.99.0.0/16", gateway: "10.0.1.1" };
  await world.changeCloud("POST", `/networks/${world.networkId}/actions/add_route`, route);
  const balancer = () => world.cloud.state.loadBalancers.find("foreign");
  const before = balancer();
  return {
    check: () => {
      expect(balancer()).toEqual(before);
      const routes = world.cloud.state.networks.get(world.networkId)?.routes;
      expect(routes).toContainEqual({ destination: "10.99.0.0/16", gateway: "10.0.1.1" });
    },
  };
}

/** Waits until the cloud has exactly the load balancers of the remaining Services, and their statuses are set. */
export async function converged(world: World, timeoutMs: number): Promise<void> {
  await eventually(
    async () => {
      const { items } = await world.core.listNamespacedService({ namespace: "default" });
      const services = items.filter(({ spec }) => spec?.type === "LoadBalancer");
      expect(services.map(({ metadata }) => metadata?.name).toSorted()).toEqual([
        ...names.slice(0, 3),
        ...names.slice(6),
      ]);
      const balancers = world.cloud.state.loadBalancers.values().filter(({ name }) => name !== "foreign");
      expect(balancers).toHaveLength(services.length);
      for (const { metadata, spec, status } of services) {
        const balancer = balancers.find(({ labels }) => labels[SERVICE_UID_LABEL] === metadata?.uid);
        const isChanged = names.indexOf(metadata?.name ?? "") < 4;
        expect(balancer?.algorithm.type).toBe(isChanged ? "least_connections" : "round_robin");
        expect(
          portsOf(balancer?.services.map(({ listen_port, destination_port }) => [listen_port, destination_port])),
        ).toEqual(portsOf(spec?.ports?.map(({ port, nodePort }) => [port, nodePort ?? 0])));
        expect(balancer?.targets).toHaveLength(3);
        expect(status?.loadBalancer?.ingress?.[0]?.ip).toBe(balancer?.public_net.ipv4.ip);
      }
      const routes = world.cloud.state.networks.get(world.networkId)?.routes.map(({ destination }) => destination);
      expect(routes?.toSorted()).toEqual(["10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24", "10.99.0.0/16"]);
    },
    { timeoutMs, intervalMs: 500 },
  );
}

function portsOf(pairs: readonly (readonly number[])[] | undefined): readonly string[] {
  return (pairs ?? []).map((pair) => pair.join(" → ")).toSorted();
}

async function patchService(world: World, name: string, patch: object): Promise<void> {
  await world.observer.patch(`/api/v1/namespaces/default/services/${name}`, "merge", patch);
}
