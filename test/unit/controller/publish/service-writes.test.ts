import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import type { Plan } from "../../../../controller/guard/plan.ts";
import { routeWrites } from "../../../../controller/publish/route-writes.ts";
import { serviceWritesAfter, serviceWritesBefore } from "../../../../controller/publish/service-writes.ts";
import type { Write } from "../../../../controller/publish/writes.ts";
import type { Rendered } from "../../../../controller/render/cluster.ts";
import type { ServiceIntent } from "../../../../controller/render/intents.ts";
import type { UnitOutcome } from "../../../../stacks/engine/run.ts";
import { routeUnit, unitOf } from "../../../../stacks/units/names.ts";
import { aBalancerSpec, aBalancerState, aNode, aRoute, aService, someSettings } from "../../../support/builders.ts";
import { aCertificateSpec, aCertificateState, managed, NO_CERTIFICATES } from "../../../support/certificates.ts";

const HOSTS = { targets: [{ kind: "server", serverId: 1, usePrivateIp: false }] } as const;
const SPEC = aBalancerSpec(HOSTS);
const UNIT = unitOf(SPEC);
const INGRESS = [
  { ip: "198.51.100.1", ipMode: "VIP" },
  { ip: "2001:db8:ffff::1", ipMode: "VIP" },
];
const FAILED: UnitOutcome = {
  status: "failed",
  changes: [],
  failure: { code: "invalid_input", message: "it is too long", retry: "never" },
};

const NOTHING_TO_SAY = {
  settings: someSettings(),
  mistakes: [],
  notes: [],
  leftOut: [],
  certificates: NO_CERTIFICATES,
};

function balance(service = aService(), more: Partial<Extract<ServiceIntent, { kind: "balance" }>> = {}): ServiceIntent {
  return { kind: "balance", service, unit: UNIT, spec: SPEC, ...NOTHING_TO_SAY, ...more };
}
const release: ServiceIntent = {
  kind: "retire",
  service: aService({ isDeleted: true }),
  unit: UNIT,
  certificates: NO_CERTIFICATES,
};
const refused: ServiceIntent = { kind: "refused", service: aService(), unit: UNIT, mistakes: ["this", "and that"] };
const rendered = (more: Partial<Rendered>): Rendered => ({ services: [], existing: {}, ...more });

/** A list of writes in short form. */
const words = (writes: readonly Write[]) =>
  writes.map((write) => (write.kind === "event" ? `${write.event.type} ${write.event.reason}` : write.kind));
const messages = (writes: readonly Write[]) =>
  writes.flatMap((write) => (write.kind === "event" ? [write.event.message] : []));

describe("writes before a run", () => {
  it("framework S06, S46: adds the finalizer before the run, once", () => {
    const claimed = aService({ finalizers: ["other", FINALIZER] });
    expect(words(serviceWritesBefore(rendered({ services: [balance(), balance(claimed)] }), [], []))).toEqual([
      "add-finalizer",
    ]);
  });

  it.each([
    ["a load balancer is about to be created", {}, true, ["add-finalizer"]],
    ["none is created now", {}, false, []],
    ["the load balancer exists", { [UNIT]: aBalancerState() }, true, []],
  ])("proves the finalizer of a Service that seems to have it when %s", (_, existing, isDue, expected) => {
    const due: Plan = isDue ? [{ kind: "make", unit: UNIT, spec: SPEC, differences: [] }] : [];
    const services = [balance(aService({ finalizers: [FINALIZER] }))];
    const writes = serviceWritesBefore(rendered({ services, existing }), due, []);
    expect(words(writes).filter((word) => word === "add-finalizer")).toEqual(expected);
  });

  it("adds no finalizer to a refused Service, and reports all mistakes in one Event", () => {
    const writes = serviceWritesBefore(rendered({ services: [refused] }), [], []);
    expect(words(writes)).toEqual(["Warning SyncLoadBalancerFailed"]);
    expect(messages(writes)).toEqual(["Error syncing load balancer: this; and that"]);
  });

  it("reports misspelt annotations of a refused Service, too", () => {
    const notes = [{ reason: "UnknownAnnotation", message: "did you mean location?" }] as const;
    const writes = serviceWritesBefore(rendered({ services: [{ ...refused, notes }] }), [], []);
    expect(words(writes)).toEqual(["Warning SyncLoadBalancerFailed", "Warning UnknownAnnotation"]);
  });

  it("reports mistakes, and handles the rest", () => {
    const writes = serviceWritesBefore(
      rendered({ services: [balance(aService(), { mistakes: ["this", "and that"] })] }),
      [],
      [],
    );
    expect(words(writes)).toEqual(["add-finalizer", "Warning SyncLoadBalancerFailed"]);
    expect(messages(writes)).toEqual(["Error syncing load balancer: this; and that"]);
  });

  it("announces an adoption, whatever else changes", () => {
    const intent = balance(aService({ finalizers: [FINALIZER] }), { adopts: 42 });
    const due = [{ kind: "make", unit: UNIT, spec: SPEC, differences: [{ part: "balancer", field: "type" }] }] as const;
    const writes = serviceWritesBefore(
      rendered({ services: [intent], existing: { [UNIT]: aBalancerState() } }),
      due,
      [],
    );
    expect(messages(writes)).toEqual([
      "Taking over load balancer balancer (id 42), which belongs to no Service of this cluster",
    ]);
  });

  it("adds no finalizer to a retired Service", () => {
    expect(serviceWritesBefore(rendered({ services: [release] }), [], [])).toEqual([]);
  });
});

describe("writes after a run for a Service with a load balancer", () => {
  const published = (intent: ServiceIntent, existing: Rendered["existing"], outcome?: UnitOutcome) =>
    serviceWritesAfter(rendered({ services: [intent], existing }), outcome ? { [UNIT]: outcome } : {});

  it("framework S48: publishes its addresses once it matches its spec", () => {
    const writes = published(balance(), { [UNIT]: aBalancerState(HOSTS) }, { status: "applied", changes: [] });
    expect(writes[0]).toEqual({ kind: "ingress", service: aService(), ingress: INGRESS });
    expect(words(writes)).toEqual(["ingress", "Normal EnsuredLoadBalancer"]);
  });

  it("framework S48: writes nothing when the status has them already", () => {
    const service = aService({ ingress: [{ ip: "198.51.100.1" }, { ip: "2001:db8:ffff::1" }] });
    expect(published(balance(service), { [UNIT]: aBalancerState(HOSTS) })).toEqual([]);
  });

  it("publishes nothing of a load balancer that does not exist, or does not match yet", () => {
    expect(published(balance(), {})).toEqual([]);
    expect(published(balance(), { [UNIT]: aBalancerState({ ...HOSTS, type: "lb31" }) })).toEqual([]);
  });

  it("framework S65: reports why it could not be created", () => {
    const writes = published(balance(), {}, FAILED);
    expect(words(writes)).toEqual(["Warning SyncLoadBalancerFailed"]);
    expect(messages(writes)).toEqual(["Error syncing load balancer: failed to ensure load balancer: it is too long"]);
  });

  it("trusts the cloud, not the run: a load balancer that matches is published even if the run failed", () => {
    expect(words(published(balance(), { [UNIT]: aBalancerState(HOSTS) }, FAILED))).toEqual([
      "ingress",
      "Normal EnsuredLoadBalancer",
    ]);
  });

  it("writes one Event per reason, for all ports and Nodes together", () => {
    const intent = balance(aService({ ingress: INGRESS }), {
      notes: [{ reason: "UnsupportedProtocolConfigured", message: "port 53/UDP is not served" }],
      leftOut: [
        { node: "a", reason: "x" },
        { node: "b", reason: "y" },
      ],
    });
    const writes = published(intent, { [UNIT]: aBalancerState(HOSTS) });
    expect(words(writes)).toEqual(["Warning UnsupportedProtocolConfigured", "Warning TargetLeftOut"]);
    expect(messages(writes)).toEqual([
      "port 53/UDP is not served",
      "Node a is not a target: x; Node b is not a target: y",
    ]);
  });

  it("leaves the status alone while a mistake leaves it unknown", () => {
    const intent = balance(aService(), { settings: someSettings({}, ["hostname"]) });
    expect(published(intent, { [UNIT]: aBalancerState(HOSTS) })).toEqual([]);
  });

  it("writes nothing for a refused Service", () => {
    expect(published(refused, { [UNIT]: aBalancerState(HOSTS) })).toEqual([]);
  });
});

it("reports the certificates of a Service that failed, in one Event, and not those that did not", () => {
  const wanted = ["a", "b", "c"].map((domain) => ({ spec: aCertificateSpec({ content: managed(domain) }) }));
  const [first = "", second = "", third = ""] = wanted.map(({ spec }) => unitOf(spec));
  const intent = balance(aService(), { certificates: { ...NO_CERTIFICATES, wanted } });
  const outcomes = { [first]: FAILED, [second]: { status: "applied", changes: [] } as const, [third]: FAILED };
  const writes = serviceWritesAfter(rendered({ services: [intent] }), outcomes);
  expect(words(writes)).toEqual(["Warning SyncCertificateFailed"]);
  expect(messages(writes)).toEqual(["Error syncing certificates: it is too long; it is too long"]);
});

describe("Events about hosts", () => {
  const changed = (...parts: string[]): UnitOutcome => ({
    status: "applied",
    changes: parts.map((part) => ({ unit: UNIT, part, operation: "create", fields: [] })),
  });
  const events = (outcome: UnitOutcome, spec = SPEC) =>
    words(
      serviceWritesAfter(
        rendered({
          services: [balance(aService({ ingress: INGRESS }), { spec })],
          existing: { [UNIT]: aBalancerState({ targets: spec.targets }) },
        }),
        { [UNIT]: outcome },
      ),
    );
  const due = (...parts: string[]) => [
    { kind: "make", unit: UNIT, spec: SPEC, differences: parts.map((part) => ({ part, field: "any" })) } as const,
  ];
  const announced = (existing: Rendered["existing"], ...parts: string[]) =>
    words(
      serviceWritesBefore(
        rendered({ services: [balance(aService({ finalizers: [FINALIZER] }))], existing }),
        due(...parts),
        [],
      ),
    );

  it("HCCM S7, framework S09, S13, S18: new hosts alone are an update, and anything else a sync", () => {
    expect(events(changed("server-1", "ip-1.2.3.4"))).toEqual(["Normal UpdatedLoadBalancer"]);
    expect(events(changed("server-1", "listener-80"))).toEqual(["Normal EnsuredLoadBalancer"]);
    const existing = { [UNIT]: aBalancerState() };
    expect(announced(existing, "server-1")).toEqual([]);
    expect(announced(existing, "server-1", "balancer")).toEqual(["Normal EnsuringLoadBalancer"]);
  });

  it("HCCM S5, framework S62: having none is reported once the load balancer matches", () => {
    expect(events(changed("server-1"), aBalancerSpec())).toEqual([
      "Warning UnAvailableLoadBalancer",
      "Normal UpdatedLoadBalancer",
    ]);
  });

  it("HCCM S7: a failure to change them has its own reason", () => {
    const services = [balance()];
    const { changes } = changed("server-1");
    const writes = serviceWritesAfter(rendered({ services }), { [UNIT]: { ...FAILED, changes } as UnitOutcome });
    expect(words(writes)).toEqual(["Warning UpdateLoadBalancerFailed"]);
  });

  it("HCCM A4, E16: a new load balancer with the default type is reported, an existing one is not", () => {
    const events = ["Warning LoadBalancerTypeUnconfigured", "Normal EnsuringLoadBalancer"];
    expect(announced({}, "balancer")).toEqual(["add-finalizer", ...events]);
    expect(announced({ [UNIT]: aBalancerState() }, "balancer")).toEqual(["Normal EnsuringLoadBalancer"]);
  });
});

describe("a load balancer that is kept", () => {
  const keeps = { spec: aBalancerSpec(), reason: "it is shared" };
  const intent: ServiceIntent = { ...release, keeps };

  it("is announced with the reason", () => {
    const step = { kind: "make", unit: UNIT, spec: keeps.spec, differences: [] } as const;
    expect(messages(serviceWritesBefore(rendered({ services: [intent] }), [step], []))).toEqual([
      "Keeping load balancer balancer, without an owner: it is shared",
    ]);
  });

  it("keeps the Service's finalizer until it has no owner, protected or not", () => {
    const existing = { [UNIT]: aBalancerState({ deleteProtection: true }) };
    expect(serviceWritesAfter(rendered({ services: [intent], existing }), {})).toEqual([]);
    const left = { ...release, isLeftBehind: true };
    expect(words(serviceWritesAfter(rendered({ services: [left] }), {}))).toEqual([
      "remove-finalizer",
      "Normal LoadBalancerKept",
    ]);
  });
});

describe("writes after a run for a retired Service", () => {
  const published = (existing: Rendered["existing"], outcome?: UnitOutcome) =>
    serviceWritesAfter(rendered({ services: [release], existing }), outcome ? { [UNIT]: outcome } : {});

  it("framework S64: removes the finalizer when the load balancer is no longer listed", () => {
    expect(words(published({}))).toEqual(["remove-finalizer", "Normal DeletedLoadBalancer"]);
  });

  it("framework S66, S74: keeps the finalizer while the load balancer exists, whatever the run reports", () => {
    expect(published({ [UNIT]: aBalancerState(HOSTS) })).toEqual([]);
    expect(published({ [UNIT]: aBalancerState(HOSTS) }, { status: "applied", changes: [] })).toEqual([]);
  });

  it("reports why the load balancer could not be deleted", () => {
    const writes = published({ [UNIT]: aBalancerState(HOSTS) }, FAILED);
    expect(messages(writes)).toEqual(["Error syncing load balancer: failed to delete load balancer: it is too long"]);
  });

  it("does not take a deletion that only removed hosts for a failure to change them", () => {
    const changes = [{ unit: UNIT, part: "server-1", operation: "delete", fields: [] }] as const;
    const writes = published({ [UNIT]: aBalancerState() }, { ...FAILED, changes } as UnitOutcome);
    expect(words(writes)).toEqual(["Warning SyncLoadBalancerFailed"]);
  });

  it("does not take a failed creation for a failed deletion, if the Service was deleted during the run", () => {
    expect(words(published({}, FAILED))).toEqual(["remove-finalizer", "Normal DeletedLoadBalancer"]);
  });

  it.each([
    ["removed", { stale: [unitOf(aCertificateState())] }],
    ["left without an owner", { stale: [], left: [aCertificateSpec()] }],
  ])("keeps the finalizer until its certificates are %s", (_, certificates) => {
    const services = [{ ...release, certificates: { owned: [], ...certificates } }];
    expect(serviceWritesAfter(rendered({ services }), {})).toEqual([]);
  });

  it("HCCM S21: removes the finalizer and reports that a protected load balancer is kept", () => {
    const writes = published({ [UNIT]: aBalancerState({ name: "edge", deleteProtection: true }) });
    expect(words(writes)).toEqual(["remove-finalizer", "Warning LoadBalancerKept"]);
    expect(messages(writes)[0]).toContain("edge");
  });
});

describe("writes after a run about routes", () => {
  const ROUTE = aRoute("10.120.0.0/24", "10.0.0.1");
  const RUNIT = routeUnit(ROUTE);
  const condition = (status: string, reason: string) => [{ type: "NetworkUnavailable", status, reason }];
  const published = (node: Parameters<typeof aNode>[0], existing: Rendered["existing"], outcome?: UnitOutcome) =>
    routeWrites(
      rendered({
        routes: { wanted: [{ node: "node-1", spec: ROUTE }], refused: [], stale: [], kept: [] },
        existing,
      }),
      outcome ? { [RUNIT]: outcome } : {},
      [aNode({ id: 1, ...node })],
    );

  it.each([
    ["R26: no condition", [], true],
    ["R28: as it should be", condition("False", "RouteCreated"), false],
    ["(unlike R29): another's reason, whose condition it is", condition("False", "CalicoIsUp"), false],
    ["an old failure", condition("True", "NoRouteCreated"), true],
  ])("HCCM R10, framework %s, route listed: written", (_, conditions, isWritten) => {
    const writes = published({ conditions }, { [RUNIT]: ROUTE });
    expect(writes.map((write) => write.kind === "network-condition" && write.isAvailable)).toEqual(
      isWritten ? [true] : [],
    );
  });

  it.each([
    ["R27: no condition", [], true],
    ["R30: another's reason", condition("True", "Other"), true],
    ["(ours): a CNI says otherwise", condition("False", "CiliumIsUp"), false],
    ["R31: it was there", condition("False", "RouteCreated"), true],
    ["R32: as it should be", condition("True", "NoRouteCreated"), false],
  ])("framework %s, route failed: with an Event (R33)", (_, conditions, isWritten) => {
    const writes = published({ conditions }, {}, FAILED);
    expect(words(writes)).toEqual([...(isWritten ? ["network-condition"] : []), "Warning FailedToCreateRoute"]);
    expect(messages(writes)).toEqual(["Could not create route for node node-1: 10.120.0.0/24: it is too long"]);
  });

  it("writes nothing while a route is being created", () => {
    expect(published({}, {})).toEqual([]);
    expect(published({}, { [RUNIT]: aRoute("10.120.0.0/24", "10.0.0.99") })).toEqual([]);
  });

  it("sets the condition of a Node that can get no route, with the reason", () => {
    const routes = {
      wanted: [],
      refused: [{ node: "node-1", reason: "it has no server", isFinal: false }],
      stale: [],
      kept: [],
    };
    const writes = routeWrites(rendered({ routes }), {}, [aNode({ id: 1 })]);
    expect(words(writes)).toEqual(["network-condition", "Warning FailedToCreateRoute"]);
    expect(messages(writes)[0]).toContain("it has no server");
  });

  it.each([
    ["unlike HCCM R9: reports a range outside --cluster-cidr", { isMisplaced: true }, "ClusterCIDRMisconfigured", true],
    ["keeps the condition of a routed Node outside it", { isMisplaced: true, hasRoute: true }, "ClusterCIDR", false],
    ["keeps the condition of a Node whose route stays", { hasRoute: true }, "FailedToCreateRoute", false],
  ])("%s", (_, facts, reason, isUnavailable) => {
    const refused = [{ node: "node-1", reason: "of this", isFinal: true, ...facts }];
    const node = aNode({ id: 1, conditions: condition("False", "RouteCreated") });
    const writes = routeWrites(rendered({ routes: { wanted: [], refused, stale: [], kept: [] } }), {}, [node]);
    expect(words(writes).filter((word) => word === "network-condition")).toHaveLength(isUnavailable ? 1 : 0);
    expect(words(writes).at(-1)).toContain(reason);
    expect(messages(writes)[0]).toContain("of this");
  });

  it("writes one Event for all refusals of a kind: equal reasons would replace each other in every turn", () => {
    const refusal = (reason: string) => ({ node: "node-1", reason, isFinal: true });
    const misplaced = (reason: string) => ({ ...refusal(reason), isMisplaced: true });
    const refused = [refusal("first"), misplaced("second"), refusal("third"), misplaced("fourth")];
    const routes = { wanted: [], refused, stale: [], kept: [] };
    expect(messages(routeWrites(rendered({ routes }), {}, [aNode({ id: 1 })]))).toEqual([
      "Could not create route for node node-1: first; third",
      "No route is created: second; fourth.",
    ]);
  });

  it("framework R12: leaves a Node without pod ranges alone", () => {
    expect(
      routeWrites(rendered({ routes: { wanted: [], refused: [], stale: [], kept: [] } }), {}, [aNode({ id: 1 })]),
    ).toEqual([]);
  });

  it("waits for all routes of a Node", () => {
    const second = aRoute("10.120.1.0/24", "10.0.0.1");
    const wanted = [ROUTE, second].map((spec) => ({ node: "node-1", spec }));
    const writes = routeWrites(
      rendered({ routes: { wanted, refused: [], stale: [], kept: [] }, existing: { [RUNIT]: ROUTE } }),
      {},
      [aNode({ id: 1 })],
    );
    expect(writes).toEqual([]);
  });

  it("leaves conditions alone where routes are not managed", () => {
    expect(routeWrites(rendered({}), {}, [aNode({ id: 1 })])).toEqual([]);
  });
});
