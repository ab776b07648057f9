import { expect, it } from "vitest";
import type { Forecast } from "../../../../../controller/commands/preview/forecast.ts";
import { forecastText } from "../../../../../controller/commands/preview/forecast-text.ts";
import { adoptionsOf, adoptionText } from "../../../../../controller/commands/status/adoption.ts";
import { plain } from "../../../../../controller/diagnostics/paint.ts";
import { FINALIZER } from "../../../../../controller/formats/finalizer.ts";
import { renderCluster } from "../../../../../controller/render/cluster.ts";
import { loadBalancerUnit } from "../../../../../stacks/units/names.ts";
import { aBalancer, aRenderOptions, aService } from "../../../../support/builders.ts";

const OPTIONS = aRenderOptions();
const labels = (uid: string) => ({ "hcloud-ccm/service-uid": uid });

it("shows which load balancer each Service finds, and how much would change", () => {
  const services = [
    aService({ name: "own", uid: "1" }),
    aService({ name: "by-name", uid: "2", annotations: { name: "ownerless" } }),
    aService({ name: "by-id", uid: "3", annotations: { id: "13" } }),
    aService({ name: "new", uid: "4" }),
    aService({ name: "taken", uid: "5", annotations: { name: "theirs" } }),
    aService({ name: "going", uid: "6", isDeleted: true, finalizers: [FINALIZER] }),
    aService({ name: "other", uid: "7", type: "ClusterIP" }),
  ];
  const loadBalancers = [
    aBalancer({ id: 11, name: "a", labels: labels("1") }),
    aBalancer({ id: 12, name: "ownerless" }),
    aBalancer({ id: 13, name: "b", ipv6: null }),
    aBalancer({ id: 14, name: "theirs", labels: labels("x") }),
    aBalancer({ id: 16, name: "c", labels: labels("6") }),
  ];
  const cloud = { servers: [], loadBalancers, certificates: [] };
  const rendered = renderCluster({ services, nodes: [], cloud, now: 0 }, OPTIONS);
  const unit = loadBalancerUnit({ namespace: "default", name: "by-name", uid: "2" });
  const part = { part: "balancer", operation: "update", reason: "", fields: [] } as const;
  const changed = { unit, object: "", action: "adopt", parts: [part] } as const;
  const forecast: Forecast = { cluster: "test", server: "", units: [changed], refused: [], notes: [] };
  const adoptions = adoptionsOf(rendered, forecast);
  expect(adoptions.map(({ service, finds, balancer, changes }) => [service, finds, balancer?.id, changes])).toEqual([
    ["default/own", "own", 11, 0],
    ["default/by-name", "adoptable", 12, 1],
    ["default/by-id", "adoptable", 13, 0],
    ["default/new", "none", undefined, 0],
    ["default/taken", "refused", undefined, 0],
    ["default/going", "leaving", 16, 0],
  ]);
  expect(adoptions[4]?.mistakes[0]).toMatch(
    /^load balancer "theirs" \(id 14\) already belongs to the Service with UID x/,
  );
  expect(adoptionText(adoptions).split("\n").slice(1, 5)).toEqual([
    "Service default/by-name would take over load balancer ownerless (id 12), 198.51.100.1, 2001:db8:ffff::1: 1 resource to change",
    "Service default/by-id would take over load balancer b (id 13), 198.51.100.1: no changes",
    "Service default/new has no load balancer, one would be created: no changes",
    "Service default/taken is refused and has no load balancer: no changes",
  ]);
  expect(adoptionText([])).toBe("no Service of type LoadBalancer is managed by Lotse\n");
  expect(forecastText({ ...forecast, units: [] }, plain, adoptionText([]))).toBe(
    "Cluster test (): nothing to change\n\nno Service of type LoadBalancer is managed by Lotse\n",
  );
});
