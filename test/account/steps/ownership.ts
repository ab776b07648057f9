/** Drift, adoption, mistakes, deletion, and Services that are none of the controller's business. */
import { deepStrictEqual, equal, ok } from "node:assert/strict";
import type { LoadBalancer } from "../../../controller/hcloud/api.ts";
import { SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { Stage } from "../stage.ts";
import type { Step } from "./step.ts";

/** Services that get no load balancer. */
const OTHERS = {
  "cluster-ip": { type: "ClusterIP" },
  "node-port": { type: "NodePort" },
  "other-class": { type: "LoadBalancer", loadBalancerClass: "example.com/other" },
} as const;

/** Deletes a Service, and waits until its load balancer is gone, if the project can be read. */
const deletion = (service: string, after: string): Step => ({
  id: `${service}-deletion`,
  title: `Deleting the Service \`${service}\` removes its load balancer, then its finalizer.`,
  needs: "cluster",
  service,
  after,
  run: async (stage) => {
    const uid = (await stage.service(service)).metadata?.uid ?? "";
    await stage.remove(service);
    if (!stage.parts.cloud) return;
    const left = (await stage.balancers(uid)).map(({ name }) => name);
    deepStrictEqual(left, [], "load balancers");
  },
});

async function repairDrift(stage: Stage): Promise<void> {
  const { api } = stage.machines;
  const { id, algorithm } = await stage.balancer("tcp");
  const path = `/load_balancers/${id}/actions/change_algorithm`;
  await api.make(path, { type: "least_connections" }, stage.parts.signal);
  await stage.until("the algorithm is repaired", async () =>
    equal((await stage.balancer("tcp")).algorithm.type, algorithm.type),
  );
  await stage.untilEvent("an Event reports it", "tcp", /^LoadBalancerDrifted: /);
}

/** A Service takes over a load balancer that was made by hand, by name or by id, and leaves it at the end. */
async function adopt(stage: Stage, by: "name" | "id"): Promise<void> {
  const [name, service] = [`lotse-test-by-${by}`, `by-${by}`];
  const { api } = stage.machines;
  const wanted = { name, load_balancer_type: "lb11", location: stage.parts.location };
  const made = await api.make<{ load_balancer: LoadBalancer }>("/load_balancers", wanted, stage.parts.signal);
  const { id } = made.load_balancer;
  await stage.apply(service, by === "name" ? { name } : { id: String(id) });
  await stage.until("the load balancer belongs to the Service", async () => {
    const found = await stage.balancer(service);
    equal(found.id, id);
    equal(found.services[0]?.listen_port, 80);
  });
  await stage.remove(service);
  const left = (await stage.cloud.list<LoadBalancer>("load_balancers")).find((it) => it.id === id);
  ok(left, "the load balancer is gone, although it existed before the Service");
  equal(left.labels[SERVICE_UID_LABEL], undefined);
  await api.send("DELETE", `/load_balancers/${id}`);
}

/** Before all other Services: created now, looked at in the end. */
export const OTHERS_CREATED: Step = {
  id: "others",
  title: "Services of other types, or of another load balancer class, can be created.",
  needs: "cluster",
  run: async (stage) => {
    for (const [name, spec] of Object.entries(OTHERS)) await stage.apply(name, {}, spec);
  },
};

/** After the rows of the Service `tcp`. */
export const TCP_STEPS: readonly Step[] = [
  {
    id: "tcp-drift",
    title: "A load balancer that was changed by hand is repaired, and an Event reports it.",
    needs: "project",
    service: "tcp",
    after: "tcp",
    run: repairDrift,
  },
  {
    id: "tcp-mistake",
    title: "An invalid annotation is reported in an Event, and the Service keeps its address.",
    needs: "cluster",
    service: "tcp",
    after: "tcp",
    run: async (stage) => {
      await stage.apply("tcp", { "algorithm-type": "lottery" });
      await stage.untilEvent("an Event reports the mistake", "tcp", /^SyncLoadBalancerFailed: .*lottery/);
      ok((await stage.ingress("tcp")).length > 0, "the Service has lost its address");
    },
  },
  {
    id: "tcp-type",
    title: "A Service that is no longer of type LoadBalancer loses its load balancer and its address.",
    needs: "cluster",
    service: "tcp",
    after: "tcp",
    run: async (stage) => {
      await stage.apply("tcp", {}, { type: "ClusterIP" });
      await stage.until("the address is gone", async () => deepStrictEqual(await stage.ingress("tcp"), []));
      if (!stage.parts.cloud) return;
      const { metadata } = await stage.service("tcp");
      const isGone = async () => equal((await stage.balancers(metadata?.uid ?? "")).length, 0);
      await stage.until("the load balancer is gone", isGone);
    },
  },
];

/** A kept load balancer serves the next Service of the same name. */
export const KEPT_STEP: Step = {
  id: "named-returns",
  title: "A kept load balancer outlives its Service, and serves the next one of that name.",
  needs: "project",
  annotations: ["on-delete"],
  service: "named",
  after: "named",
  run: async (stage) => {
    const { id } = await stage.balancer("named");
    await stage.apply("named", { name: "lotse-test-named", "on-delete": "keep" });
    await stage.remove("named");
    await stage.apply("named", { name: "lotse-test-named" });
    await stage.until("the Service has its load balancer back", async () =>
      equal((await stage.balancer("named")).id, id),
    );
  },
};

export const ADOPTION_STEPS: readonly Step[] = (["name", "id"] as const).map((by) => ({
  id: `adoption-by-${by}`,
  title: `A load balancer that was made by hand is adopted by ${by}, and left when the Service is deleted.`,
  needs: "project",
  annotations: [by],
  service: `by-${by}`,
  run: (stage) => adopt(stage, by),
}));

export const WEB_DELETION = deletion("web", "http");
export const PLACED_DELETION: Step = { ...deletion("placed", "placed"), needs: "project" };
export const NAMED_DELETION: Step = { ...deletion("named", "named"), needs: "project" };

/** At the end. */
export const OTHERS_UNTOUCHED: Step = {
  id: "others-untouched",
  title: "The Services of other types and classes still have neither a load balancer nor an address.",
  needs: "cluster",
  after: "others",
  run: async (stage) => {
    for (const name of Object.keys(OTHERS)) {
      deepStrictEqual(await stage.ingress(name), [], name);
      await stage.remove(name);
    }
  },
};
