import fc from "fast-check";
import { expect, it } from "vitest";
import { renderLoadBalancer } from "../../../../../controller/render/service/load-balancer.ts";
import { OPTION_ROWS } from "../../../../../controller/render/service/options/annotations.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../../../stacks/units/spec.ts";
import {
  aBalancerState,
  aListener,
  aNetwork,
  aNode,
  aServer,
  aService,
  NETWORK_ID,
} from "../../../../support/builders.ts";
import { aCatalogue } from "../../../../support/catalogue.ts";
import { NO_LISTS } from "../../../../support/certificates.ts";
import { hostileText } from "../../../../support/hostile.ts";

const subnets = [{ ip_range: "10.0.1.0/24", network_zone: "eu-central" }];
const ids = [1, 2, 3];
const CONTEXT = {
  nodes: ids.map((id) => aNode({ id })),
  servers: ids.map((id) => aServer({ id, privateIp: `10.0.1.${id}` })),
  defaults: {},
  certificates: NO_LISTS,
  networkId: NETWORK_ID,
  network: aNetwork({ ip_range: "10.0.0.0/16", subnets }),
  catalogue: aCatalogue(),
  takenIps: new Set(["10.0.1.1"]),
};

/** Right for some option, so that not everything is wrong. */
const plausible = fc.constantFrom(
  ...["true", "false", "t", "0", "http", "TCP", "https", "10.0.1.9", "10.0.1.1", "10.0.1.0/24", "30s", "1m30s", "5"],
  ...["2??,301", "lb21", "lb99", "fsn1", "moon", "eu-central", "a.example.com", "team=web", "keep", "42", "a in (b,c)"],
  ...["least_connections", "/healthz", "-1", "65536", "9007199254740993", "1e3", "NaN", "Infinity"],
);
const names = OPTION_ROWS.map(([, { annotation }]) => annotation);
const annotation = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...names) },
  { weight: 3, arbitrary: fc.constantFrom(...names).map((name) => `443.${name}`) },
  { weight: 1, arbitrary: hostileText.map((text) => text.slice(0, 60)) },
);
const port = fc.record({
  port: fc.constantFrom(80, 443, 8443, 1, 65_535),
  nodePort: fc.option(fc.integer({ min: 30_000, max: 32_767 }), { nil: undefined, freq: 9 }),
  protocol: fc.constantFrom("TCP", "TCP", "TCP", "UDP", "SCTP"),
  appProtocol: fc.constantFrom("http", "https", "kubernetes.io/ws", "__proto__"),
});
const service = fc.record({
  annotations: fc.dictionary(annotation, fc.oneof(plausible, plausible, hostileText), { maxKeys: 8 }),
  ports: fc.uniqueArray(port, { maxLength: 7, selector: ({ port: number, protocol }) => `${number}${protocol}` }),
});
const existing = aBalancerState({
  network: { networkId: NETWORK_ID, ip: "10.0.1.7", subnet: "10.0.1.0/24" },
  rdns: { ipv4: "old.example.com" },
  listeners: [aListener(80), aListener(8443, { proxyProtocol: true })],
  targets: [{ kind: "server", serverId: 1, usePrivateIp: true }],
});

it.each([
  ["new", undefined],
  ["existing", existing],
])(
  "5,000 Services with arbitrary annotations, %s: no exception, nothing that the API rejects, and readable mistakes",
  (_, state) => {
    fc.assert(
      fc.property(service, ({ annotations, ports }) => {
        const given = ports.map(({ nodePort, ...rest }) => ({ ...rest, ...(nodePort !== undefined && { nodePort }) }));
        const rendered = renderLoadBalancer(aService({ annotations, ports: given }), {
          ...CONTEXT,
          ...(state && { existing: state }),
        });
        expect(rendered.ok).toBe(state !== undefined || rendered.mistakes.length === 0);
        if (rendered.ok) expectAcceptable(rendered.spec, state);
        for (const mistake of rendered.mistakes) expectReadable(mistake);
        for (const { message } of rendered.notes) expect(message.length).toBeLessThan(5_000);
      }),
      { numRuns: 2_500 },
    );
  },
  60_000,
);

const NAMING =
  /^(annotation load-balancer\.hetzner\.cloud\/|appProtocol of port|port \d|neither annotation|the Service has |\d+ ports need)/;

/** One line that names what is wrong, and is not the whole of a hostile value. */
function expectReadable(mistake: string): void {
  expect(mistake).toMatch(NAMING);
  expect(mistake).not.toMatch(/\p{Cc}/u);
  expect(mistake.length).toBeLessThan(1_000);
}

/** Bounds of the API's own description, and rules that it checks. */
function expectAcceptable(spec: LoadBalancerSpec, before: LoadBalancerState | undefined): void {
  const { name, type, place, algorithm, labels, network, rdns, listeners, targets } = spec;
  expect(name).toMatch(/^\S(.{0,126}\S)?$/u);
  expect(["lb1", "lb11", "lb21", "lb31"]).toContain(type);
  expect(["fsn1", "nbg1", "hel1", "ash", "eu-central", "us-east"]).toContain(Object.values(place)[0]);
  expect(["round_robin", "least_connections"]).toContain(algorithm);
  for (const [key, value] of Object.entries(labels)) {
    expect(key).toMatch(/^([a-z0-9A-Z.-]+\/)?[A-Za-z0-9][-A-Za-z0-9_.]{0,62}$/);
    expect(value).toMatch(/^[-A-Za-z0-9_.]{0,63}$/);
  }
  if (network?.ip !== undefined) expect(network.ip).toMatch(/^10\.0\.1\.(?!1$|0$|255$)\d+$/);
  expect([undefined, "10.0.1.0/24"]).toContain(network?.subnet);
  for (const ptr of Object.values(rdns ?? {})) expect(ptr ?? "x").toMatch(/^[a-z0-9.-]{1,253}$/);
  const ports = listeners.map(({ listenPort }) => listenPort);
  expect(new Set(ports).size).toBe(ports.length);
  expect(ports.length).toBeLessThanOrEqual(type === "lb21" ? 15 : type === "lb31" ? 30 : 5);
  for (const listener of listeners) if (!before?.listeners.includes(listener)) expectListener(listener);
  const isPrivate = targets.every((target) => target.kind === "server" && target.usePrivateIp);
  if (network?.publicInterface === false) expect(isPrivate).toBe(true);
}

function expectListener(listener: LoadBalancerSpec["listeners"][number]): void {
  const { destinationPort, protocol, http, healthCheck: check } = listener;
  expect(destinationPort).toBeGreaterThanOrEqual(30_000);
  expect(http === undefined).toBe(protocol === "tcp");
  if (http) {
    expect(http.cookieName).toMatch(/^\S{1,100}$/u);
    expect(http.cookieLifetimeSeconds).toSatisfy((value: number) => value >= 30 && value <= 86_400);
    expect(http.timeoutIdleSeconds).toSatisfy((value: number) => value >= 30 && value <= 300);
    if (http.redirectHttp) expect(protocol).toBe("https");
  }
  for (const [value, least, most] of [
    [check.port, 1, 65_535],
    [check.intervalSeconds, 3, 60],
    [check.timeoutSeconds, 1, 60],
    [check.retries, 1, 5],
  ] as const) {
    expect(Number.isInteger(value) && value >= least && value <= most, JSON.stringify(check)).toBe(true);
  }
  expect(check.http === undefined).toBe(check.protocol === "tcp");
  expect(check.http?.path ?? "/").toMatch(/^\S{1,256}$/u);
  expect(check.http?.domain ?? "").toMatch(/^[^\s%\\]{0,128}$/u);
  for (const code of check.http?.statusCodes ?? []) expect(code).toMatch(/^[0-9?*]{1,3}$/);
}
