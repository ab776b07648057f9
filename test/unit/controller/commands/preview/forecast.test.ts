import { describe, expect, it } from "vitest";
import {
  type Forecast,
  hasChanges,
  partOf,
  renderForecast,
} from "../../../../../controller/commands/preview/forecast.ts";
import { forecastMarkdown } from "../../../../../controller/commands/preview/forecast-markdown.ts";
import { forecastText } from "../../../../../controller/commands/preview/forecast-text.ts";
import { FINALIZER } from "../../../../../controller/formats/finalizer.ts";
import { planRun } from "../../../../../controller/guard/plan.ts";
import type { Prices } from "../../../../../controller/hcloud/prices.ts";
import { renderCluster, type Snapshot } from "../../../../../controller/render/cluster.ts";
import type { Change, RunReport } from "../../../../../stacks/engine/run.ts";
import { loadBalancerUnit } from "../../../../../stacks/units/names.ts";
import {
  aBalancer,
  aBalancerService,
  aNode,
  aRenderOptions,
  aServer,
  aServerTarget,
  aService,
  UID,
} from "../../../../support/builders.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const OPTIONS = aRenderOptions();
const PRICES: Prices = {
  currency: "EUR",
  balancer: (type) => ({ lb11: 5.39, lb21: 16.4 })[type],
};
const BALANCER = aBalancer({
  name: "a0c7e1a529d3b4f608a715b2e6f4d9c1",
  labels: { "hcloud-ccm/service-uid": UID },
  services: [aBalancerService(80)],
  targets: [aServerTarget(1)],
});

/** The forecast for Services on one node, with an engine that says `changes` of the one unit. */
function forecast(
  services: Snapshot["services"],
  loadBalancers: Snapshot["cloud"]["loadBalancers"],
  changes: readonly Omit<Change, "unit" | "fields">[] = [],
  given: Partial<Forecast> & { failure?: string } = {},
): Forecast {
  const snapshot = {
    now: 0,
    services,
    nodes: [aNode({ id: 1 })],
    cloud: { servers: [aServer({ id: 1 })], loadBalancers, certificates: [] },
  };
  const rendered = renderCluster(snapshot, OPTIONS);
  const full = changes.map((change) => ({ ...change, unit: UNIT, fields: [] }));
  const failure = { code: "x", message: given.failure ?? "", retry: "soon" as const };
  const outcomes: RunReport["outcomes"] = {
    [UNIT]: given.failure ? { status: "failed", changes: full, failure } : { status: "applied", changes: full },
  };
  return renderForecast({
    cluster: "test",
    context: { rendered, nodes: snapshot.nodes, servers: snapshot.cloud.servers, defaults: OPTIONS.defaults },
    plan: planRun(rendered),
    outcomes,
    notes: given.notes ?? [],
    prices: PRICES,
    ...(given.heldBack !== undefined && { heldBack: given.heldBack }),
  });
}

describe("a forecast", () => {
  it("of a cluster at rest shows no changes and the price", () => {
    const rest = forecast([aService()], [BALANCER]);
    expect(hasChanges(rest)).toBe(false);
    expect(forecastText(rest)).toBe("Cluster test: nothing to change\n\nLoad balancers: 5.39 EUR a month, unchanged\n");
  });

  it("of a new Service shows what is created, why, and the price", () => {
    const made = forecast(
      [aService()],
      [],
      [
        { part: "balancer", operation: "create" },
        { part: "listener-80", operation: "create" },
        { part: "server-1", operation: "create" },
      ],
    );
    expect(forecastText(made)).toBe(
      `Cluster test: 1 to create

+ Service default/web   +5.39 EUR a month
    + balancer: lb11 in fsn1   (Service default/web is of type LoadBalancer)
    + listener-80: tcp 80 to node port 30080   (Service default/web, spec.ports 80)
    + server-1: public address   (Node node-1)

Load balancers: 5.39 EUR a month, +5.39 (now 0.00 EUR), excluding VAT and traffic
`,
    );
  });

  it("of a change shows every field with its reason, and the price difference", () => {
    const service = aService({ annotations: { type: "lb21", "algorithm-type": "least_connections" } });
    const changed = forecast([service], [BALANCER], [{ part: "balancer", operation: "update" }]);
    expect(changed.units[0]).toMatchObject({
      action: "change",
      object: "Service default/web",
      cost: { before: 5.39, after: 16.4 },
    });
    expect(forecastText(changed)).toContain(
      `~ Service default/web   +11.01 EUR a month
    ~ balancer
        algorithm: round_robin → least_connections   (Service default/web, annotation load-balancer.hetzner.cloud/algorithm-type)
        type: lb11 → lb21   (Service default/web, annotation load-balancer.hetzner.cloud/type)`,
    );
  });

  it("of a deletion shows a price of zero afterwards", () => {
    const service = aService({ isDeleted: true, finalizers: [FINALIZER] });
    const gone = forecast([service], [BALANCER], [{ part: "balancer", operation: "delete" }]);
    expect(forecastText(gone)).toContain("- Service default/web   −5.39 EUR a month");
    expect(forecastText(gone)).toContain("    - balancer   (Service default/web is being deleted)");
    expect(gone.cost).toEqual({ currency: "EUR", before: 5.39, after: 0 });
  });

  it("of an adoption is marked as such", () => {
    const service = aService({ annotations: { name: "mine" } });
    const adopted = forecast([service], [{ ...BALANCER, name: "mine", labels: {} }], []);
    expect(adopted.units.map(({ action }) => action)).toEqual(["adopt"]);
    expect(forecastText(adopted)).toContain("> Service default/web");
  });

  it("shows refusals, what the guard holds back, failures and notes", () => {
    const shown = forecastText(
      forecast(
        [aService(), aService({ name: "bad", uid: "2", annotations: { protocol: "tpc" } })],
        [],
        [{ part: "balancer", operation: "create" }],
        { heldBack: "9 of 9 units", notes: ["made up"], failure: "quota exceeded" },
      ),
    );
    expect(shown).toContain("Cluster test: 1 to create, 1 refused");
    expect(shown).toContain(
      '! Service default/bad is refused:\n    annotation load-balancer.hetzner.cloud/protocol: "tpc" is not one of',
    );
    expect(shown).toContain("! held back by the guard: 9 of 9 units");
    expect(shown).toContain("    ! quota exceeded");
    expect(shown).toContain("note: made up");
  });

  it("uses colours only when it is given a painter", () => {
    const made = forecast([aService()], [], [{ part: "balancer", operation: "create" }]);
    expect(forecastText(made)).not.toContain("\u001b");
    expect(forecastText(made, (text, colour) => `<${colour}>${text}`)).toContain("<green>+ Service default/web");
  });
});

describe("a forecast in Markdown", () => {
  it("has a row per unit and its resources in collapsible sections", () => {
    const made = forecast([aService()], [], [{ part: "listener-80", operation: "create" }]);
    expect(forecastMarkdown(made)).toBe(
      `### Cluster test: 1 to create

| | for | resources | price |
| --- | --- | --- | --- |
| create | Service default/web | 1 | +5.39 EUR a month |

<details><summary>Service default/web</summary>

- create listener-80: tcp 80 to node port 30080 (Service default/web, spec.ports 80)

</details>

Load balancers: 5.39 EUR a month, +5.39 (now 0.00 EUR), excluding VAT and traffic
`,
    );
  });

  it("escapes markup and mentions in users' texts", () => {
    const notes = ["<img src=x> [a](http://b) `c` **d** @team\n# e | f"];
    const [, , note] = forecastMarkdown(forecast([], [], [], { notes })).split("\n");
    expect(note).toBe("- \\<img src=x\\> \\[a\\]\\(http://b\\) \\`c\\` \\*\\*d\\*\\* @\u200bteam \\# e \\| f");
  });
});

it.each([
  ["listener-443 http cookieName", UNIT, "listener-443"],
  ["target server-7", UNIT, "server-7"],
  ["target ip-10.0.0.1", UNIT, "ip-10.0.0.1"],
  ["network id", UNIT, "network"],
  ["public interface", UNIT, "network"],
  ["label a b", UNIT, "balancer"],
  ["existence", UNIT, "balancer"],
  ["gateway", "route/10.244.1.0/24", "route"],
] as const)("%s of %s is carried by %s", (field, unit, expected) => {
  expect(partOf(field, unit)).toBe(expected);
});
