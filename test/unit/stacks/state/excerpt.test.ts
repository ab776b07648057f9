import { describe, expect, it } from "vitest";
import type { RunRequest } from "../../../../stacks/engine/run.ts";
import { reconcile } from "../../../../stacks/state/checkpoint.ts";
import { merge, narrow } from "../../../../stacks/state/excerpt.ts";
import { unitOf } from "../../../../stacks/units/names.ts";
import type {
  LoadBalancerSpec,
  LoadBalancerState,
  TargetSpec,
  UnitSpec,
  UnitState,
} from "../../../../stacks/units/spec.ts";
import { aBalancerSpec, aBalancerState, aListener, aRoute } from "../../../support/builders.ts";

const server = (serverId: number, usePrivateIp = true): TargetSpec => ({ kind: "server", serverId, usePrivateIp });
const NETWORK = { networkId: 7, publicInterface: true };
const SPEC = aBalancerSpec({
  network: NETWORK,
  listeners: [aListener(80), aListener(443)],
  targets: [server(1), server(2)],
});
const STATE = aBalancerState({
  network: { networkId: 7, ip: "10.0.0.2" },
  listeners: [aListener(80), aListener(443)],
  targets: [server(1), server(2)],
});
const CONTEXT = { stack: "prod", provider: { version: "1.0.0", config: {} } };

function requestOf(spec: UnitSpec, state?: UnitState): RunRequest {
  const access = { endpoint: "", token: "" };
  return { mode: "apply", units: [spec], removals: [], nodes: {}, existing: { [unitOf(spec)]: state }, access };
}

/** The parts of a load balancer that remain on both sides. */
function left(spec: Partial<LoadBalancerSpec>, state: Partial<LoadBalancerState> = {}) {
  const { units, existing } = narrow(requestOf({ ...SPEC, ...spec }, { ...STATE, ...state }));
  const parts = (of: UnitSpec | UnitState | undefined) =>
    of?.kind === "load-balancer" && [
      ...(of.network ? ["network"] : []),
      ...of.listeners.map(({ listenPort }) => listenPort),
      ...of.targets.map((target) => (target.kind === "server" ? `server-${target.serverId}` : target.ip)),
    ];
  return [parts(units[0]), parts(existing[unitOf(SPEC)])];
}

describe("of an existing load balancer, a run sees", () => {
  it.each<[string, Partial<LoadBalancerSpec>, Partial<LoadBalancerState>, unknown[], unknown[]]>([
    ["nothing but itself when only it changes", { type: "lb21" }, {}, [], []],
    ["a new target", { targets: [server(1), server(2), server(3)] }, {}, ["server-3"], []],
    ["a target that goes", { targets: [server(1)] }, {}, [], ["server-2"]],
    ["a target that changes", { targets: [server(1), server(2, false)] }, {}, ["server-2"], ["server-2"]],
    ["a target by address", { targets: [...SPEC.targets, { kind: "ip", ip: "2001:db8::1" }] }, {}, ["2001:db8::1"], []],
    [
      "a listener that changes",
      { listeners: [aListener(80), aListener(443, { proxyProtocol: true })] },
      {},
      [443],
      [443],
    ],
    ["a listener that goes", { listeners: [aListener(80)] }, {}, [], [443]],
    [
      "its network when the interface changes",
      { network: { networkId: 7, publicInterface: false } },
      {},
      ["network", "server-1", "server-2"],
      ["network", "server-1", "server-2"],
    ],
    [
      "its network when another is wanted",
      { network: { networkId: 8, publicInterface: true } },
      {},
      ["network", "server-1", "server-2"],
      ["network", "server-1", "server-2"],
    ],
    [
      "its network and targets when it was detached",
      {},
      { network: undefined, targets: [] } as unknown as Partial<LoadBalancerState>,
      ["network", "server-1", "server-2"],
      [],
    ],
    ["no network that it leaves open", { network: undefined } as unknown as Partial<LoadBalancerSpec>, {}, [], []],
    [
      "no part for a label that is called like one",
      { labels: { ...SPEC.labels, network: "x", "server-1": "y" } },
      {},
      [],
      [],
    ],
  ])("%s", (_, spec, state, wanted, existing) => {
    expect(left(spec, state)).toEqual([wanted, existing]);
  });
});

it.each<[string, RunRequest]>([
  ["a load balancer to be created", requestOf(SPEC)],
  ["a route", requestOf(aRoute("10.244.1.0/24", "10.0.0.1"))],
])("a run sees all of %s", (_, request) => {
  expect(narrow(request)).toEqual(request);
});

it("a run sees all of a load balancer to be removed", () => {
  const { units: _, ...rest } = requestOf(SPEC, STATE);
  const request = { ...rest, units: [], removals: [unitOf(SPEC)] };
  expect(narrow(request)).toEqual(request);
});

it("a run sees no other units", () => {
  const request = requestOf(aRoute("10.244.1.0/24", "10.0.0.1"));
  const { existing } = narrow({ ...request, existing: { ...request.existing, [unitOf(SPEC)]: STATE } });
  expect(Object.keys(existing)).toEqual(["route/10.244.1.0/24"]);
});

describe("the state after a run", () => {
  const other = aBalancerSpec({ service: { namespace: "default", name: "other", uid: "2" } });
  const both = {
    ...requestOf(SPEC, STATE),
    existing: { [unitOf(SPEC)]: STATE, [unitOf(other)]: { ...STATE, id: 43 } },
  };
  const state = reconcile([], { ...both, units: [SPEC, other] }, CONTEXT);
  const [root, provider] = state;
  const request = requestOf({ ...SPEC, targets: [server(1), server(3)] }, STATE);
  const excerpt = reconcile([root, provider], narrow(request), CONTEXT);
  const urns = (of: readonly { urn: string }[]) => of.map(({ urn }) => urn).toSorted();

  it("is unchanged if the run did nothing", () => {
    expect(urns(merge(state, excerpt, excerpt))).toEqual(urns(state));
  });

  it("contains what the run created, and no longer what it deleted", () => {
    const made = { urn: "new", type: "t", custom: true };
    const after = [...excerpt.filter(({ urn }) => !urn.endsWith("#server-2")), made];
    const merged = merge(state, excerpt, after);
    expect(urns(merged)).toEqual(
      [...urns(state).filter((urn) => !urn.endsWith(`${unitOf(SPEC)}#server-2`)), "new"].toSorted(),
    );
  });

  it("has every record after its dependencies", () => {
    const merged = urnsInOrder(merge(state, excerpt, excerpt));
    for (const { urn, parent, dependencies = [] } of merge(state, excerpt, excerpt)) {
      for (const before of [...dependencies, ...(parent ? [parent] : [])]) {
        expect(merged.indexOf(before)).toBeLessThan(merged.indexOf(urn));
        expect(merged).toContain(before);
      }
    }
  });

  it("has no parts of a deleted load balancer", () => {
    const after = excerpt.filter(({ urn }) => !urn.includes(unitOf(SPEC)));
    expect(urns(merge(state, excerpt, after)).filter((urn) => urn.includes(unitOf(SPEC)))).toEqual([]);
  });
});

function urnsInOrder(of: readonly { urn: string }[]): readonly string[] {
  return of.map(({ urn }) => urn);
}
