import { describe, expect, it } from "vitest";
import type { RunRequest } from "../../../../stacks/engine/run.ts";
import { narrow } from "../../../../stacks/state/checkpoint.ts";
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

function requestOf(spec: UnitSpec, state?: UnitState): RunRequest {
  const access = { endpoint: "", token: "" };
  return { mode: "apply", units: [spec], removals: [], existing: { [unitOf(spec)]: state }, access };
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
