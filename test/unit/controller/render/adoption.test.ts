import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { planRun } from "../../../../controller/guard/plan.ts";
import type { LoadBalancer } from "../../../../controller/hcloud/api.ts";
import { renderCluster } from "../../../../controller/render/cluster.ts";
import { describeField } from "../../../../stacks/units/difference.ts";
import {
  aBalancer,
  aBalancerService,
  aNode,
  aRenderOptions,
  aServer,
  aServerTarget,
  aService,
  NETWORK_ID,
  UID,
} from "../../../support/builders.ts";

const OWNER = "hcloud-ccm/service-uid";
const OTHER = "99999999-0000-4000-8000-000000000000";
const RELEASED = { "lotse/released": OTHER, "lotse/released-namespace": "prod", "lotse/released-name": "shop" };
const CONSENT = { "lotse/adopt-namespace": "tenant", "lotse/adopt-name": "x" };
const nodes = [
  aNode({ id: 1, labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" } }),
  aNode({ id: 2 }),
];
const servers = [aServer({ id: 1 }), aServer({ id: 2 }), aServer({ id: 3, name: "database" })];

type Options = Partial<Parameters<typeof aRenderOptions>[0]>;

function plan(
  service: Parameters<typeof aService>[0],
  balancer: Parameters<typeof aBalancer>[0],
  options: Options = {},
  others: readonly ReturnType<typeof aService>[] = [],
) {
  const cloud = { servers, loadBalancers: [aBalancer({ id: 77, name: "edge", ...balancer })], certificates: [] };
  const services = [aService({ namespace: "tenant", name: "x", ...service }), ...others];
  const rendered = renderCluster({ services, nodes, cloud, now: 0 }, aRenderOptions(options));
  const [step] = planRun(rendered);
  const fields = (step?.differences ?? []).map((difference) => {
    const { want, have } = difference;
    return `${want === undefined ? "-" : have === undefined ? "+" : "~"} ${describeField(difference)}`;
  });
  const [intent] = rendered.services;
  const labels = step?.kind === "make" && step.spec.kind === "load-balancer" ? step.spec.labels : undefined;
  return {
    intent,
    step,
    labels,
    mistakes: intent?.kind === "retire" ? [] : (intent?.mistakes ?? []),
    /** Changes of listeners and targets, each listener once. */
    parts: [
      ...new Set(fields.filter((text) => !/label /.test(text)).map((text) => text.replace(/(listener \d+) .*/, "$1"))),
    ],
  };
}

/** The load balancer as the plan leaves it. */
function applied({ step, intent }: ReturnType<typeof plan>, given: Partial<LoadBalancer>): Partial<LoadBalancer> {
  if (step?.kind !== "make" || step.spec.kind !== "load-balancer" || intent === undefined) return given;
  const { labels, listeners, targets } = step.spec;
  const services = listeners.map(({ listenPort }) => aBalancerService(listenPort));
  const ported = new Set(services.map(({ listen_port }) => listen_port));
  const added = targets.flatMap((target) => (target.kind === "server" ? [aServerTarget(target.serverId)] : []));
  const ids = new Set(added.flatMap((target) => (target.type === "server" ? [target.server.id] : [])));
  return {
    ...given,
    labels,
    services: [...(given.services ?? []).filter(({ listen_port }) => !ported.has(listen_port)), ...services],
    targets: [
      ...(given.targets ?? []).filter((target) => target.type !== "server" || !ids.has(target.server.id)),
      ...added,
    ],
  };
}

const API_SERVER = {
  services: [aBalancerService(6443, { destination_port: 6443 })],
  targets: [aServerTarget(1), aServerTarget(3)],
};
const byId = (ports: readonly number[], more: Readonly<Record<string, string>> = {}) => ({
  ports,
  annotations: { id: "77", ...more },
});

describe("a load balancer without an owner", () => {
  it("HCCM S11: is adopted when it is empty, with everything the Service asks for", () => {
    const { intent, parts, labels } = plan(byId([80], { "algorithm-type": "least_connections", type: "lb21" }), {});
    expect(intent).toMatchObject({ kind: "balance", adopts: 77, mistakes: [] });
    expect(parts).toEqual(["~ algorithm", "~ type", "+ listener 80", "+ target server-2"]);
    expect(labels).toEqual({ [OWNER]: UID, "lotse/adopted": "true" });
  });

  it("HCCM S11: is adopted when it already has the Service's shape, and only labels change", () => {
    const shape = { services: [aBalancerService(80)], targets: [aServerTarget(2)] };
    const adopting = plan(byId([80]), shape);
    expect([adopting.mistakes, adopting.parts]).toEqual([[], []]);
    const later = applied(adopting, shape);
    expect(plan(byId([80]), later).step).toBeUndefined();
    expect(plan(byId([80], { "algorithm-type": "least_connections" }), later).parts).toEqual(["~ algorithm"]);
  });

  it("keeps every listener and target, and gets the Service's beside them", () => {
    const { intent, parts } = plan(byId([81]), API_SERVER);
    expect(intent).toMatchObject({ kind: "balance", mistakes: [] });
    expect(parts).toEqual(["+ listener 81", "+ target server-2"]);
  });

  it("keeps its own fields when others use it", () => {
    const settings = {
      name: "renamed",
      type: "lb31",
      "algorithm-type": "least_connections",
      "disable-public-network": "true",
      "use-private-ip": "true",
      "ipv4-rdns": "evil.example.com",
      "delete-protection": "false",
    };
    const given = {
      ...API_SERVER,
      protection: { delete: true },
      private_net: [{ network: 99, ip: "10.9.0.2" }],
    };
    const { parts } = plan(byId([81], settings), given, { networkId: NETWORK_ID });
    expect(parts).toEqual(["+ listener 81"]);
  });

  it("keeps its own fields when only label selectors were on it, whatever they select", () => {
    const targets = [{ type: "label_selector", label_selector: { selector: "team=a" } }] as const;
    const adopting = plan(byId([80], { type: "lb31" }), { targets });
    expect(adopting.parts).toEqual(["+ listener 80", "+ target server-2"]);
    expect(adopting.labels).toMatchObject({ "lotse/foreign-selectors": "true" });
  });

  it.each([
    ["its only port is taken", [6443], "refused", []],
    ["one of its ports is taken", [81, 6443], "balance", ["+ listener 81", "+ target server-2"]],
  ])("refuses a port with another listener, with the remedy: %s", (_, ports, kind, parts) => {
    const refused = plan(byId(ports), API_SERVER);
    expect(refused.intent?.kind).toBe(kind);
    expect(refused.parts).toEqual(parts);
    expect(refused.mistakes).toEqual([
      expect.stringMatching(/^port 6443 is not served: load balancer "edge" \(id 77\).*: delete that listener/),
    ]);
  });

  it("keeps what it had, whatever the Service asks for later", () => {
    const later = applied(plan(byId([81]), API_SERVER), API_SERVER);
    const claims = plan(byId([81, 6443], { "node-selector": "role=none" }), later);
    expect(claims.parts).toEqual(["- target server-2"]);
    expect(claims.mistakes).toEqual([expect.stringContaining("port 6443 is not served")]);
    const matched = { services: [aBalancerService(80)], targets: [aServerTarget(2)] };
    const shaped = applied(plan(byId([80]), matched), matched);
    expect(plan(byId([81], { "node-selector": "role=none" }), shaped).parts).toEqual(["+ listener 81"]);
  });

  it("hands a port over once its listener was deleted by hand", () => {
    const { services: _, ...later } = applied(plan(byId([81]), API_SERVER), API_SERVER);
    const claims = plan(byId([81, 6443]), { ...later, services: [aBalancerService(81)] });
    expect([claims.parts, claims.mistakes]).toEqual([["+ listener 6443"], []]);
    expect(claims.labels).not.toHaveProperty("lotse/foreign-listener-6443");
  });

  it("loses only what the Service added when it is deleted, then its owner, and is never deleted", () => {
    const going = { ...byId([81]), isDeleted: true, finalizers: [FINALIZER] };
    const shape = { services: [aBalancerService(81)], targets: [aServerTarget(2)] };
    for (const [given, added] of [
      [API_SERVER, ["- target server-2", "- listener 81"]],
      [{}, ["- target server-2", "- listener 81"]],
      [shape, []],
    ] as const) {
      const later = applied(plan(byId([81]), given), given);
      const first = plan(going, later);
      expect(first.step?.kind).toBe("make");
      expect(first.parts.toSorted()).toEqual(added.toSorted());
      if (added.length > 0) expect(first.labels).toEqual(later.labels);
      const second = plan(going, { ...later, ...given, services: given.services ?? [], targets: given.targets ?? [] });
      expect([second.step?.kind, second.parts]).toEqual(["make", []]);
      expect(second.labels).toMatchObject({ "lotse/released-namespace": "tenant", "lotse/released-name": "x" });
      expect(second.labels).not.toHaveProperty(OWNER);
    }
  });

  it.each([
    ["another namespace and name", { namespace: "tenant", name: "x" }, "refused"],
    ["the same name in another namespace", { namespace: "tenant", name: "shop" }, "refused"],
    ["the same namespace and name", { namespace: "prod", name: "shop" }, "balance"],
    ["the same UID, whatever its name", { namespace: "a", name: "b", uid: OTHER }, "balance"],
  ])("that was left behind returns to a Service of %s: %j is %s", (_, service, kind) => {
    const wanted = { ...service, annotations: { name: "edge" }, ports: [443] };
    for (const options of [{}, { adoption: "labelled" }] as const) {
      const { intent, mistakes } = plan(wanted, { labels: RELEASED, services: [aBalancerService(443)] }, options);
      expect(intent?.kind).toBe(kind);
      if (kind === "refused")
        expect(mistakes).toEqual([
          `load balancer "edge" (id 77) is reserved for prod/shop: hand it over with \`lotse adopt ${service.namespace}/${service.name} --load-balancer 77\`, or use another name or id`,
        ]);
    }
  });

  it("that returns serves the Service's ports again under other node ports, is still its own, and keeps the rest", () => {
    const labels = { ...RELEASED, "lotse/foreign-listener-9000": "true" };
    const services = [
      aBalancerService(443, { destination_port: 31_999 }),
      aBalancerService(9000),
      aBalancerService(9001),
    ];
    const wanted = { namespace: "prod", name: "shop", annotations: { name: "edge" }, ports: [443, 9000] };
    const returned = plan(wanted, { labels, services, targets: [aServerTarget(2), aServerTarget(3)] });
    expect(returned.parts).toEqual(["~ listener 443"]);
    expect(returned.labels).toEqual({
      [OWNER]: UID,
      "lotse/foreign-listener-9000": "true",
      "lotse/foreign-listener-9001": "true",
      "lotse/foreign-server-3": "true",
    });
  });

  it("released by an earlier version, with the UID alone, returns to that UID only", () => {
    const { mistakes } = plan({ annotations: { name: "edge" } }, { labels: { "lotse/released": OTHER } });
    expect(mistakes).toEqual([expect.stringContaining(`reserved for the Service with UID ${OTHER}`)]);
  });
});

describe("consent by labels", () => {
  it.each([
    ["without labels", {}, "refused", "balance"],
    ["that names the Service", CONSENT, "balance", "balance"],
    ["that names its namespace only", { "lotse/adopt-namespace": "tenant" }, "refused", "refused"],
    ["that names its name only", { "lotse/adopt-name": "x" }, "refused", "refused"],
    ["that names another Service", { ...CONSENT, "lotse/adopt-name": "y" }, "refused", "refused"],
    ["that names it in another namespace", { ...CONSENT, "lotse/adopt-namespace": "y" }, "refused", "refused"],
    ["with its UID", { ...CONSENT, "lotse/adopt-uid": UID }, "balance", "balance"],
    ["for that name in another cluster", { ...CONSENT, "lotse/adopt-uid": OTHER }, "refused", "refused"],
  ])("a load balancer %s: %j is %s where labels are required, else %s", (_, labels, labelled, named) => {
    const kinds = [{ adoption: "labelled" } as const, {}].map(
      (options) => plan(byId([80]), { labels }, options).intent?.kind,
    );
    expect(kinds).toEqual([labelled, named]);
  });

  it("names the remedy where labels are required", () => {
    expect(plan(byId([80]), {}, { adoption: "labelled" }).mistakes).toEqual([
      'load balancer "edge" (id 77) has no label that lets this Service adopt it: hand it over with `lotse adopt tenant/x --load-balancer 77`, or use another name or id',
    ]);
  });

  it("does not affect a load balancer that the Service owns", () => {
    const { intent, step } = plan({ ports: [] }, { labels: { [OWNER]: UID } }, { adoption: "labelled" });
    expect(intent).toMatchObject({ kind: "balance" });
    expect(step?.kind).toBe("make");
  });

  it("finds the load balancer by the Service's UID, whatever the annotations name, and is used up", () => {
    const labels = { ...CONSENT, "lotse/adopt-uid": UID };
    const { intent, labels: left } = plan({ annotations: { name: "another" } }, { labels });
    expect(intent).toMatchObject({ kind: "balance", adopts: 77 });
    expect(left).toEqual({ [OWNER]: UID, "lotse/adopted": "true" });
  });

  it("hands over nothing that was not made for a Service", () => {
    const { parts, mistakes } = plan(byId([81, 6443]), { ...API_SERVER, labels: CONSENT });
    expect(parts).toEqual(["+ listener 81", "+ target server-2"]);
    expect(mistakes).toEqual([expect.stringContaining("port 6443")]);
  });
});

describe("a load balancer whose owner is not in this cluster, as after it was rebuilt", () => {
  const labels = { [OWNER]: OTHER, "lotse/foreign-listener-9000": "true" };
  const services = [aBalancerService(80, { destination_port: 31_999 }), aBalancerService(81), aBalancerService(9000)];
  const given = { labels, services, targets: [aServerTarget(3)] };

  it("is refused, with the command that hands it over", () => {
    expect(plan(byId([80]), given).mistakes).toEqual([
      `load balancer "edge" (id 77) already belongs to the Service with UID ${OTHER}, which is not in this cluster: hand it over with \`lotse adopt tenant/x --load-balancer 77\`, or use another name or id`,
    ]);
  });

  it.each([
    ["has an owner", labels],
    ["was left behind", { ...RELEASED, "lotse/foreign-listener-9000": "true" }],
  ])(
    "is handed over by consent, wholly except for what was foreign before, and stays without its Service: it %s",
    (_, before) => {
      const { intent, parts, labels: after } = plan(byId([80]), { ...given, labels: { ...before, ...CONSENT } });
      expect(intent).toMatchObject({ kind: "balance", adopts: 77, mistakes: [] });
      expect(parts).toEqual(["~ listener 80", "- listener 81", "+ target server-2", "- target server-3"]);
      expect(after).toEqual({ [OWNER]: UID, "lotse/adopted": "true", "lotse/foreign-listener-9000": "true" });
    },
  );

  it("is refused despite consent while a Service of this cluster owns it", () => {
    const owner = aService({ namespace: "prod", name: "shop", uid: OTHER });
    const { mistakes } = plan(byId([80]), { ...given, labels: { ...labels, ...CONSENT } }, {}, [owner]);
    expect(mistakes).toEqual([
      'load balancer "edge" (id 77) already belongs to Service prod/shop: use another name or id',
    ]);
  });

  it("HCCM S11: is wholly the Service's with its UID as the owner, as after a migration", () => {
    const { intent, parts } = plan(byId([80]), { ...given, labels: { [OWNER]: UID } });
    expect(intent).not.toHaveProperty("adopts");
    expect(parts).toEqual([
      "~ listener 80",
      "- listener 81",
      "- listener 9000",
      "+ target server-2",
      "- target server-3",
    ]);
  });
});
