import { expect, it } from "vitest";
import { planHandover } from "../../../../../controller/commands/status/handover.ts";
import { aBalancer, aRenderOptions, aService, UID } from "../../../../support/builders.ts";

const OWNER = "hcloud-ccm/service-uid";
const OTHER = "99999999-0000-4000-8000-000000000000";
const CONSENT = { "lotse/adopt-uid": UID, "lotse/adopt-namespace": "default", "lotse/adopt-name": "web" };
const request = { service: "default/web", loadBalancer: "edge" };

function plan(
  labels: Record<string, string>,
  { services = [aService()], others = [] as ReturnType<typeof aBalancer>[], asked = request } = {},
) {
  const loadBalancers = [...others, aBalancer({ id: 77, name: "edge", labels })];
  const snapshot = { services, nodes: [], cloud: { servers: [], loadBalancers, certificates: [] }, now: 0 };
  return planHandover(asked, snapshot, aRenderOptions());
}

it.each([
  ["has no owner", {}, "it has no owner: its listeners and targets stay"],
  ["belongs to a Service elsewhere", { [OWNER]: OTHER }, `UID ${OTHER}, which is not in this cluster. If another`],
  [
    "was left behind by an earlier version",
    { "lotse/released": OTHER },
    `left behind by the Service with UID ${OTHER}`,
  ],
  [
    "was left behind by another Service",
    { "lotse/released": OTHER, "lotse/released-namespace": "a", "lotse/released-name": "b" },
    "left behind by Service a/b, which can no longer",
  ],
  ["was left behind by this Service", { "lotse/released": UID }, "left behind by this Service"],
])("sets labels on a load balancer that %s, keeps the others, and says what it means", (_, labels, note) => {
  const planned = plan({ team: "a", ...labels });
  expect(planned?.consent).toEqual(CONSENT);
  expect(planned?.labels).toEqual({ team: "a", ...labels, ...CONSENT });
  expect(planned?.notes[0]).toContain(note);
});

it("replaces consent to another Service, and to one of the same name in another cluster", () => {
  expect(plan({ ...CONSENT, "lotse/adopt-uid": OTHER, "lotse/adopt-name": "x" })?.labels).toEqual(CONSENT);
});

it("finds the load balancer by id before its name", () => {
  const others = [aBalancer({ id: 5, name: "77" })];
  expect(plan({}, { others, asked: { ...request, loadBalancer: "77" } })?.balancer.id).toBe(77);
});

it.each([
  ["owns it", { [OWNER]: UID }],
  ["was given it before", CONSENT],
])("has nothing to do when the Service %s", (_, labels) => {
  expect(plan(labels)).toBeUndefined();
});

it.each([
  ["does not exist", { services: [] }, "Service default/web does not exist"],
  ["is being deleted", { services: [aService({ isDeleted: true })] }, "is being deleted"],
  ["has another one", { others: [aBalancer({ labels: { [OWNER]: UID } })] }, 'already has load balancer "balancer"'],
  ["was given another one", { others: [aBalancer({ labels: CONSENT })] }, '"balancer" (id 42) is being handed over'],
  [
    "asks for one of this cluster",
    { services: [aService(), aService({ name: "owner", uid: OTHER })] },
    "belongs to Service default/owner of this cluster",
  ],
])("refuses when the Service %s", (_, given, words) => {
  expect(() => plan({ [OWNER]: OTHER }, given)).toThrow(words);
});
