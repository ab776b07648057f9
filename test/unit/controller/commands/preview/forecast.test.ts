import { marked } from "marked";
import { describe, expect, it } from "vitest";
import { eventNotes } from "../../../../../controller/commands/preview/event-notes.ts";
import { exitCodeOf, type Forecast, renderForecast } from "../../../../../controller/commands/preview/forecast.ts";
import { forecastMarkdown } from "../../../../../controller/commands/preview/forecast-markdown.ts";
import { forecastText } from "../../../../../controller/commands/preview/forecast-text.ts";
import { FINALIZER } from "../../../../../controller/formats/finalizer.ts";
import { planRun } from "../../../../../controller/guard/plan.ts";
import type { Prices } from "../../../../../controller/hcloud/prices.ts";
import { renderCluster, type Snapshot } from "../../../../../controller/render/cluster.ts";
import { refusalsOf } from "../../../../../controller/render/refusals.ts";
import type { Change, RunReport } from "../../../../../stacks/engine/run.ts";
import { loadBalancerUnit } from "../../../../../stacks/units/names.ts";
import type { UnitId } from "../../../../../stacks/units/spec.ts";
import {
  aBalancer,
  aBalancerService,
  aNetwork,
  aNode,
  aRenderOptions,
  aServer,
  aServerTarget,
  aService,
  NETWORK_ID,
  UID,
} from "../../../../support/builders.ts";
import { TERMINAL_OBEYS } from "../../../../support/hostile.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const OPTIONS = aRenderOptions();
const PRICES: Prices = {
  currency: "EUR",
  balancer: (type) => ({ lb11: 5.39, lb21: 16.4 })[type],
};
const UNIT_FORECAST = { unit: UNIT, object: "Service default/web", action: "create", parts: [] } as const;
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
  given: Partial<Forecast> & { failure?: string; unit?: UnitId } = {},
): Forecast {
  const snapshot = {
    now: 0,
    services,
    nodes: [aNode({ id: 1 })],
    cloud: { servers: [aServer({ id: 1 })], loadBalancers, certificates: [] },
  };
  const rendered = renderCluster(snapshot, OPTIONS);
  const { unit = UNIT } = given;
  const full = changes.map((change) => ({ ...change, unit, fields: [] }));
  const failure = { code: "x", message: given.failure ?? "", retry: "soon" as const };
  const outcomes: RunReport["outcomes"] = {
    [unit]: given.failure ? { status: "failed", changes: full, failure } : { status: "applied", changes: full },
  };
  return renderForecast({
    place: { cluster: "test", context: "prod", server: "https://api" },
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
    expect(exitCodeOf(rest)).toBe(0);
    expect(forecastText(rest)).toBe(
      "Cluster test (context prod, https://api): nothing to change\n\nLoad balancers: 5.39 EUR a month, unchanged\n",
    );
  });

  it("of a new Service shows what is created, why, and the price", () => {
    const made = forecast(
      [aService({ annotations: { type: "lb11" } })],
      [],
      [
        { part: "balancer", operation: "create" },
        { part: "listener-80", operation: "create" },
        { part: "server-1", operation: "create" },
      ],
    );
    expect(forecastText(made)).toBe(
      `Cluster test (context prod, https://api): 1 to create

+ Service default/web   +5.39 EUR a month
    + balancer: lb11 in fsn1   (Service default/web is of type LoadBalancer)
    + listener-80: tcp 80 to node port 30080   (Service default/web, spec.ports 80)
    + server-1: public address   (Node node-1)

Load balancers: 5.39 EUR a month, +5.39 (now 0.00 EUR), excluding VAT and traffic
`,
    );
  });

  it("of a new Service lists every field that is not a default, also as data", () => {
    const annotations = {
      type: "lb11",
      name: "shop",
      "algorithm-type": "least_connections",
      "delete-protection": "true",
      labels: "team=web",
      "ipv4-rdns": "shop.example.com",
      protocol: "http",
      "http-sticky-sessions": "true",
      "health-check-interval": "5s",
      "80.health-check-http-path": "/up",
    };
    const made = forecast(
      [aService({ annotations })],
      [],
      [
        { part: "balancer", operation: "create" },
        { part: "rdns-ipv4", operation: "create" },
        { part: "listener-80", operation: "create" },
      ],
    );
    const fields = made.units[0]?.parts.map((part) => part.fields.map(({ field, to }) => `${field}: ${to}`));
    expect(fields).toEqual([
      ["algorithm: least_connections", "delete protection: true", "label team: web", "name: shop"],
      ["name: shop.example.com"],
      [
        "healthCheck http path: /up",
        "healthCheck http statusCodes: 2??,3??",
        "healthCheck http tls: false",
        "healthCheck intervalSeconds: 5",
        "healthCheck protocol: http",
        "http stickySessions: true",
      ],
    ]);
    expect(forecastText(made)).toContain(`
    + listener-80: http 80 to node port 30080   (Service default/web, spec.ports 80)
        health check http path: /up   (Service default/web, annotation load-balancer.hetzner.cloud/80.health-check-http-path)
        health check http status codes: 2??,3??   (Service default/web`);
  });

  it("of a new Service with local traffic shows its health check", () => {
    const service = aService({ annotations: { type: "lb11" } });
    const spec = { ...service.spec, externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 };
    const made = forecast([{ ...service, spec }], [], [{ part: "listener-80", operation: "create" }]);
    const fields = made.units[0]?.parts[0]?.fields.map(({ field, to }) => `${field}: ${to}`);
    expect(fields).toEqual(expect.arrayContaining(["healthCheck port: 31000", "healthCheck http path: /healthz"]));
  });

  it.each<[string, Parameters<typeof aService>[0], readonly string[]]>([
    ["misspelt annotations", { annotations: { type: "lb11", locaton: "fsn1" } }, ["locaton"]],
    ["the default type", {}, ["Using the default load balancer type lb11"]],
    [
      "ports that cannot be served",
      { annotations: { type: "lb11" }, ports: [80, { port: 53, protocol: "UDP" }] },
      ["port 53/UDP is not served"],
    ],
    [
      "listeners that wait for a certificate",
      {
        annotations: {
          type: "lb11",
          "443.protocol": "https",
          "certificate-type": "managed",
          "http-managed-certificate-domains": "shop.example.com",
        },
        ports: [80, 443],
      },
      ["listener-443 follows when the certificate is issued"],
    ],
    ["nothing else", { annotations: { type: "lb11" } }, []],
  ])("notes what Events will say (B7): %s", (_, given, expected) => {
    const { notes } = forecast([aService(given)], []);
    expect(notes).toEqual(expected.map((text) => expect.stringContaining(text)));
    expect(notes.every((note) => note.startsWith("Service default/web: "))).toBe(true);
  });

  it("lists Nodes with pod ranges outside --cluster-cidr as refused, and once", () => {
    const node = aNode({ id: 1, podCIDRs: ["10.9.1.0/24"] });
    const network = aNetwork();
    const cloud = {
      servers: [aServer({ id: 1, privateIp: "10.0.0.1" })],
      loadBalancers: [],
      certificates: [],
      network,
    };
    const options = aRenderOptions({ clusterCidrs: ["10.244.0.0/16"], networkId: NETWORK_ID });
    const rendered = renderCluster({ now: 0, services: [], nodes: [node], cloud }, options);
    expect(eventNotes(rendered, planRun(rendered), [node])).toEqual([]);
    const mistakes = [expect.stringMatching(/^no route: pod CIDR 10\.9\.1\.0\/24 is outside --cluster-cidr/)];
    expect(refusalsOf(rendered)).toEqual([{ object: "Node node-1", mistakes }]);
  });

  it("of a certificate shows its domains", () => {
    const annotations = {
      type: "lb11",
      protocol: "https",
      "certificate-type": "managed",
      "http-managed-certificate-domains": "shop.example.com,www.example.com",
    };
    const service = aService({ annotations, ports: [443] });
    const { units } = forecast([service], []);
    const certificate = units.find(({ unit }) => unit.startsWith("certificate/"))?.unit ?? UNIT;
    const made = forecast([service], [], [{ part: "certificate", operation: "create" }], { unit: certificate });
    expect(forecastText(made)).toContain("+ certificate: managed, for shop.example.com, www.example.com   (");
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
    expect(shown).toContain("Cluster test (context prod, https://api): 1 to create, 1 refused");
    expect(shown).toContain(
      '! Service default/bad is refused:\n    annotation load-balancer.hetzner.cloud/protocol: "tpc" is not one of',
    );
    expect(shown).toContain("! held back by the guard: 9 of 9 units");
    expect(shown).toContain("    ! quota exceeded");
    expect(shown).toContain("note: made up");
  });

  it.each<[string, Partial<Forecast>, number]>([
    ["nothing to do", {}, 0],
    ["changes", { units: [UNIT_FORECAST] }, 2],
    ["a refused object", { refused: [{ object: "a", mistakes: ["b"] }] }, 3],
    ["changes and a refused object (B5)", { units: [UNIT_FORECAST], refused: [{ object: "a", mistakes: ["b"] }] }, 3],
    ["removals that the guard holds back", { units: [UNIT_FORECAST], heldBack: "9 of 9 units" }, 3],
    ["a failure beside a refused object", { units: [{ ...UNIT_FORECAST, failure: "no" }], heldBack: "9" }, 1],
  ])("has an exit code: %s", (_, given, code) => {
    expect(exitCodeOf({ cluster: "test", server: "https://api", units: [], refused: [], notes: [], ...given })).toBe(
      code,
    );
  });

  it("uses colours only when it is given a painter", () => {
    const made = forecast([aService()], [], [{ part: "balancer", operation: "create" }]);
    expect(forecastText(made)).not.toContain("\u001b");
    expect(forecastText(made, (text, colour) => `<${colour}>${text}`)).toContain("<green>+ Service default/web");
  });
});

describe("a forecast in Markdown", () => {
  it("has a row per unit and its resources in collapsible sections", () => {
    const annotations = { type: "lb11", "health-check-retries": "5" };
    const made = forecast([aService({ annotations })], [], [{ part: "listener-80", operation: "create" }]);
    expect(forecastMarkdown(made)).toBe(
      `### Cluster test \\(context prod, https:&#8203;//api\\): 1 to create

| | for | resources | price |
| --- | --- | --- | --- |
| create | Service default/web | 1 | +5.39 EUR a month |

<details><summary>Service default/web</summary>

- create listener-80: tcp 80 to node port 30080 (Service default/web, spec.ports 80)
  - health check retries: 5 (Service default/web, annotation load-balancer.hetzner.cloud/health-check-retries)

</details>

Load balancers: 5.39 EUR a month, +5.39 (now 0.00 EUR), excluding VAT and traffic
`,
    );
  });

  it("escapes markup and mentions in users' texts", () => {
    const notes = ["<img src=x> [a](http://b) `c` **d** @team\n# e | f"];
    const [, , note] = forecastMarkdown(forecast([], [], [], { notes })).split("\n");
    expect(note).toBe("- \\<img src=x\\> \\[a\\]\\(http:&#8203;//b\\) \\`c\\` \\*\\*d\\*\\* @&#8203;team \\# e \\| f");
  });

  it("keeps an entity from becoming the character that would make a mention or a link", () => {
    const notes = ["&commat;team &#64;team https&colon;//evil.example &lt;b&gt;"];
    const text = forecastMarkdown(forecast([], [], [], { notes }));
    expect(text).toContain("- \\&commat;team \\&\\#64;team https\\&colon;//evil.example \\&lt;b\\&gt;");
  });

  it("makes no link from users' texts, not even where a bare address becomes one", () => {
    const texts = [
      "https://evil.example/a",
      "HTTP://evil",
      "www.evil.example",
      "Www.Evil.example",
      "ftp://evil.example",
    ];
    const refused = [{ object: "Service a/www.evil.example", mistakes: texts }];
    const text = forecastMarkdown(forecast([], [], [], { refused, notes: texts, heldBack: texts.join(" ") }));
    expect(marked.parse(text, { gfm: true })).not.toContain("<a ");
    expect(text).not.toMatch(TERMINAL_OBEYS);
    expect(text).toContain("- https:&#8203;//evil.example/a\n- HTTP:&#8203;//evil\n- www&#8203;.evil.example\n");
  });
});
