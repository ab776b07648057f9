/** Random units, and whether Pulumi's diff and ours say the same about them. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LocalWorkspace, PulumiCommand, Stack } from "@pulumi/pulumi/automation/index.js";
import fc from "fast-check";
import { startCloud } from "../../dev-env/cloud/cloud.ts";
import { PROVIDER, PROVIDER_CONFIG } from "../../stacks/engine/operation.ts";
import { declare } from "../../stacks/engine/program.ts";
import { advance, newProgress } from "../../stacks/engine/progress.ts";
import { recordsFor, renderCheckpoint } from "../../stacks/state/checkpoint.ts";
import { backendFile, cliEnvironment, folders, prepareFolders, writeState } from "../../stacks/state/workspace.ts";
import { differences } from "../../stacks/units/difference.ts";
import { PROJECT, unitOf } from "../../stacks/units/names.ts";
import type {
  CertificateSpec,
  ListenerSpec,
  LoadBalancerSpec,
  LoadBalancerState,
  TargetSpec,
  UnitSpec,
  UnitState,
} from "../../stacks/units/spec.ts";
import { aBalancerSpec, aBalancerState, aListener } from "./builders.ts";
import { aCertificateSpec, aCertificateState, managed } from "./certificates.ts";
import { makeEngineHome } from "./engine.ts";

/** A spec and what exists of it. */
export interface Pair {
  readonly spec: UnitSpec;
  readonly state?: UnitState;
}

const { constantFrom: pick, boolean, record, option, oneof, constant, subarray, tuple } = fc;
const some = <T>(of: fc.Arbitrary<T>) => option(of, { nil: undefined });
/** Optional fields must be absent rather than undefined. */
const without = <T extends object>(given: T) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

const checkHttp = record({
  domain: pick("", "example.com"),
  path: pick("/", "/healthz"),
  response: pick("", "ok"),
  tls: boolean(),
  statusCodes: pick(["2??", "3??"], ["3??", "2??"], ["200"]),
});
const healthCheck = record({
  protocol: pick("tcp", "http"),
  intervalSeconds: pick(15, 20),
  retries: pick(3, 5),
  http: checkHttp,
}).map(({ http, ...check }) => ({
  ...aListener(80).healthCheck,
  ...check,
  ...(check.protocol === "http" && { http }),
}));
const http = record({
  stickySessions: boolean(),
  cookieName: pick("HCLBSTICKY", "SID"),
  cookieLifetimeSeconds: pick(300, 60),
  timeoutIdleSeconds: pick(50, 30),
  redirectHttp: constant(false),
  certificateIds: pick([5], [5, 6], [6, 5]),
});
const listener = (port: number): fc.Arbitrary<ListenerSpec> =>
  record({
    protocol: pick("tcp", "http", "https"),
    proxyProtocol: boolean(),
    healthCheck,
    http,
    offset: pick(0, 1),
  }).map(({ http: options, offset, ...given }) =>
    aListener(port, {
      ...given,
      destinationPort: 30_000 + port + offset,
      ...(given.protocol !== "tcp" && {
        http: { ...options, certificateIds: given.protocol === "https" ? options.certificateIds : [] },
      }),
    }),
  );
const listeners = tuple(listener(80), listener(443), listener(8080)).chain((all) => subarray(all));
const targets: fc.Arbitrary<TargetSpec[]> = tuple(
  ...[1, 2, 3].map((serverId) =>
    boolean().map((usePrivateIp) => ({ kind: "server", serverId, usePrivateIp }) as const),
  ),
  constant({ kind: "ip", ip: "203.0.113.7" } as const),
).chain((all) => subarray<TargetSpec>(all));
const ADDRESS = { "10.0.1.0/24": "10.0.1.5", "10.0.2.0/24": "10.0.2.9" } as const;
const subnet = pick<keyof typeof ADDRESS>("10.0.1.0/24", "10.0.2.0/24");
const network = record({ subnet, hasSubnet: boolean(), hasIp: boolean(), publicInterface: boolean() }).map(
  ({ subnet: range, hasSubnet, hasIp, publicInterface }) => ({
    networkId: 7,
    publicInterface,
    ...(hasSubnet && { subnet: range }),
    ...(hasIp && { ip: ADDRESS[range] }),
  }),
);
const name = pick("a.example.com", "b.example.com");
const own = {
  type: pick("lb11", "lb21"),
  algorithm: pick("round_robin", "least_connections"),
  deleteProtection: boolean(),
  labels: pick({ own: "1" }, { own: "1", team: "a" }, { own: "1", team: "b" }),
  listeners,
  targets,
} as const;
const spec = record({
  ...own,
  network: some(network),
  rdns: some(record({ ipv4: some(oneof(name, constant(null))), ipv6: some(oneof(name, constant(null))) }).map(without)),
}).map(without);
const attachment = record({ networkId: pick(7, 7, 8), subnet }).map(({ networkId, subnet: range }) => ({
  networkId,
  ip: ADDRESS[range],
  subnet: range,
}));
const state = record({
  ...own,
  publicInterface: boolean(),
  network: some(attachment),
  rdns: some(record({ ipv4: name })),
}).map(without);

/** A state that matches the spec, in another order where the API treats lists as sets. */
function settled(wanted: LoadBalancerSpec): LoadBalancerState {
  const { place: _, service: __, network: asked, rdns = {}, ...fields } = wanted;
  const range = asked?.subnet ?? "10.0.1.0/24";
  const ip = asked?.ip ?? ADDRESS[range as keyof typeof ADDRESS];
  const names = Object.entries(rdns).filter(([, text]) => text !== null);
  return aBalancerState({
    ...fields,
    publicInterface: asked?.publicInterface ?? true,
    ...(asked && { network: { networkId: 7, ip, subnet: ip.replace(/\d+$/, "0/24") } }),
    rdns: Object.fromEntries(names),
    targets: fields.targets.toReversed(),
    listeners: fields.listeners.toReversed().map((one) => ({
      ...one,
      ...(one.http && { http: { ...one.http, certificateIds: one.http.certificateIds.toReversed() } }),
      healthCheck: {
        ...one.healthCheck,
        ...(one.healthCheck.http && {
          http: { ...one.healthCheck.http, statusCodes: one.healthCheck.http.statusCodes.toReversed() },
        }),
      },
    })),
  });
}

const balancerPair = tuple(spec, state, pick("settled", "settled", "random", "random", "absent")).map(
  ([given, other, how]) =>
    (index: number): Pair => {
      const service = { namespace: "default", name: `web${index}`, uid: index.toString(16).padStart(12, "0") };
      const wanted = aBalancerSpec({ ...given, service, name: `b${index}` });
      const identity = { id: 1_000 + index, name: wanted.name };
      if (how === "absent") return { spec: wanted };
      const exists = how === "settled" ? settled(wanted) : aBalancerState(other);
      return { spec: wanted, state: { ...exists, ...identity } };
    },
);
const routePair = pick<(string | undefined)[]>("10.0.0.1", "10.0.0.2", undefined).map(
  (gateway) =>
    (index: number): Pair => {
      const route = {
        kind: "route",
        networkId: 7,
        destination: `10.${Math.floor(index / 250)}.${index % 250}.0/24`,
      } as const;
      return { spec: { ...route, gateway: "10.0.0.1" }, ...(gateway && { state: { ...route, gateway } }) };
    },
);
const certificatePair = pick("settled", "relabelled", "absent").map((how) => (index: number): Pair => {
  const service = { namespace: "default", name: `tls${index}`, uid: index.toString(16).padStart(12, "0") };
  const given: Partial<CertificateSpec> = { service, name: `c${index}`, content: managed(`${index}.example.com`) };
  const wanted = aCertificateSpec(given);
  if (how === "absent") return { spec: wanted };
  const labels = how === "settled" ? wanted.labels : { ...wanted.labels, foreign: "x" };
  return { spec: wanted, state: aCertificateState({ ...given, id: 5_000 + index, labels }) };
});

/** Random units with what exists of them: equal, equal but reordered, different or absent. */
export function randomPairs(seed: number, count: number): readonly Pair[] {
  const weighted = oneof(
    { arbitrary: balancerPair, weight: 10 },
    { arbitrary: routePair, weight: 1 },
    { arbitrary: certificatePair, weight: 1 },
  );
  return fc.sample(weighted, { seed, numRuns: count }).map((make, index) => make(index + 1));
}

/** What Pulumi plans for the whole program over the whole state: the parts it would touch, by unit. */
export async function planByPulumi(pairs: readonly Pair[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const home = await makeEngineHome();
  const cloud = await startCloud({});
  try {
    await prepareFolders(home);
    const existing = Object.fromEntries(pairs.flatMap(({ spec: of, state: is }) => (is ? [[unitOf(of), is]] : [])));
    const specs = pairs.map(({ spec: of }) => of);
    const records = recordsFor(existing, specs, { stack: "test", provider: PROVIDER });
    await writeState(backendFile(home), renderCheckpoint(records, "test"));
    const config = Object.fromEntries(Object.entries(PROVIDER_CONFIG).map(([key, value]) => [`hcloud:${key}`, value]));
    const workspace = await LocalWorkspace.create({
      workDir: folders(home).project,
      pulumiHome: folders(home).home,
      envVars: cliEnvironment(home, { endpoint: cloud.url, token: cloud.token }),
      pulumiCommand: await PulumiCommand.get({ root: join(home.pulumi, "..", "..") }),
      projectSettings: { name: PROJECT, runtime: "nodejs" },
      stackSettings: { test: { config } },
    });
    const stack = await Stack.select("test", workspace);
    const progress = newProgress();
    await stack.preview({
      program: async () => {
        for (const of of specs) declare(of);
      },
      parallel: 16,
      suppressProgress: true,
      onEvent: (event) => void advance(progress, event),
    });
    return new Map([...progress.changes].map(([unit, changes]) => [unit, new Set(changes.map(({ part }) => part))]));
  } finally {
    await cloud.stop();
    await rm(home.directory, { recursive: true, force: true });
  }
}

/** Units about which the two diffs disagree, in words. Parts that only follow from a replaced attachment are Pulumi's. */
export function disagreements(
  pairs: readonly Pair[],
  planned: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  return pairs.flatMap(({ spec: of, state: is }) => {
    const unit = unitOf(of);
    const ours = new Set(differences(of, is).map(({ part }) => part));
    const theirs = planned.get(unit) ?? new Set();
    const isReplaced = ours.has("network");
    const onlyOurs = [...ours].filter((part) => !theirs.has(part));
    const onlyTheirs = [...theirs].filter((part) => !ours.has(part) && !(isReplaced && part.startsWith("server-")));
    if (onlyOurs.length + onlyTheirs.length === 0) return [];
    return [`${unit}: only ours ${onlyOurs.join(" ")}, only Pulumi's ${onlyTheirs.join(" ")}`];
  });
}
