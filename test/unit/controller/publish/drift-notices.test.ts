import { expect, it } from "vitest";
import type { Drift } from "../../../../controller/guard/drift.ts";
import { removal } from "../../../../controller/guard/plan.ts";
import { driftWrites } from "../../../../controller/publish/turn-notices.ts";
import type { Rendered } from "../../../../controller/render/cluster.ts";
import { certificateUnit, loadBalancerUnit } from "../../../../stacks/units/names.ts";
import { aBalancerState, aNode, aRoute, aService, UID } from "../../../support/builders.ts";
import { aCertificateState, managed } from "../../../support/certificates.ts";

const SERVICE = { namespace: "default", name: "web", uid: UID };
const UNIT = loadBalancerUnit(SERVICE);
const CERTIFICATE = certificateUnit({ service: SERVICE, content: managed("example.com") });
const TYPE = [{ part: "balancer", field: "type", want: "lb11", have: "lb21" }];
const ROUTE = aRoute("10.244.1.0/24", "10.0.0.1");

const rendered = {
  services: [{ kind: "balance", unit: UNIT, service: aService() }],
  routes: { wanted: [{ node: "node-1", spec: ROUTE }], refused: [], stale: [], kept: [] },
  existing: {},
} as unknown as Rendered;

function events(drift: Partial<Drift>, isWaiting = false) {
  const given = { unit: UNIT, differences: TYPE, times: 1, at: 0, ...drift } as Drift;
  const plan = isWaiting ? [] : [removal(given.unit, false)];
  return driftWrites([given], rendered, { nodes: [aNode({ id: 1 })], plan }).flatMap((write) =>
    write.kind === "event" ? [`${write.event.about.kind} ${write.event.reason}: ${write.event.message}`] : [],
  );
}

it.each<[string, Partial<Drift>, string]>([
  [
    "a change",
    {},
    "Service LoadBalancerDrifted: Load balancer was changed outside the cluster and is being repaired: type was changed to lb21.",
  ],
  [
    "a change that comes back",
    { times: 3 },
    "Service LoadBalancerDrifted: Load balancer was changed outside the cluster and is being repaired: type was changed to lb21. It was changed again, at least 3 times in an hour: does something else manage it?",
  ],
  [
    "a deletion, with the consequence (W15)",
    { lost: aBalancerState({ id: 37, name: "shop" }) },
    "Service LoadBalancerDrifted: Load balancer shop (id 37) was deleted outside the cluster. A new one is being created, with new addresses.",
  ],
  [
    "a deleted certificate",
    { unit: CERTIFICATE, lost: aCertificateState({ name: "c" }) },
    "Service LoadBalancerDrifted: Certificate c (id 77) was deleted outside the cluster. A new one is being created.",
  ],
  [
    "a deleted route",
    { unit: "route/10.244.1.0/24", lost: ROUTE },
    "Node RouteDrifted: Route 10.244.1.0/24 was deleted outside the cluster and is being repaired.",
  ],
])("reports %s on its object", (_, drift, expected) => {
  expect(events(drift)).toEqual([expected]);
});

it.each<[string, Partial<Drift>, string]>([
  [
    "a change",
    {},
    "Service LoadBalancerDrifted: Load balancer was changed outside the cluster. Its repair waits for approval: type was changed to lb21.",
  ],
  [
    "a deletion",
    { lost: aBalancerState({ id: 37, name: "shop" }) },
    "Service LoadBalancerDrifted: Load balancer shop (id 37) was deleted outside the cluster. A new one waits for approval, with new addresses.",
  ],
  [
    "a deleted route",
    { unit: "route/10.244.1.0/24", lost: ROUTE },
    "Node RouteDrifted: Route 10.244.1.0/24 was deleted outside the cluster. Its repair waits for approval.",
  ],
])("does not claim to repair %s that waits for approval", (_, drift, expected) => {
  expect(events(drift, true)).toEqual([expected]);
});

it("has another occasion for each repair, so that the Event's count rises (B8)", () => {
  const occasions = [1, 2].map((at) =>
    driftWrites([{ unit: UNIT, differences: TYPE, times: 3, at }], rendered, { nodes: [], plan: [] }).map(
      (write) => write.kind === "event" && write.event.occasion,
    ),
  );
  expect(occasions[0]).not.toEqual(occasions[1]);
});
