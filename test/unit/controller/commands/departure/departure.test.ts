import type { V1Service } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { Absence } from "../../../../../controller/apply/proof.ts";
import {
  type Departure,
  type DepartureMode,
  dispositionsOf,
  planDeparture,
  unproven,
} from "../../../../../controller/commands/departure/departure.ts";
import { type DepartureReport, departureText } from "../../../../../controller/commands/departure/departure-text.ts";
import {
  becomeSoleWriter,
  holderOf,
  leaseNotes,
  readLease,
} from "../../../../../controller/commands/departure/sole-writer.ts";
import type { Session } from "../../../../../controller/commands/open.ts";
import { accessFlags, commandText } from "../../../../../controller/commands/shell.ts";
import { FINALIZER } from "../../../../../controller/formats/finalizer.ts";
import type { Certificate, LoadBalancer, Network } from "../../../../../controller/hcloud/api.ts";
import { ALONE } from "../../../../../controller/kube/lease.ts";
import type { Snapshot } from "../../../../../controller/render/cluster.ts";
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

import { aListedCertificate, anIssuedCertificate } from "../../../../support/certificates.ts";

const OPTIONS = aRenderOptions({ clusterCidrs: ["10.244.0.0/16"], networkId: NETWORK_ID });
const OWNER = "hcloud-ccm/service-uid";

const ours = (annotations = {}) => aService({ finalizers: [FINALIZER], annotations });
const own = (given: Partial<LoadBalancer> = {}) =>
  aBalancer({ labels: { [OWNER]: UID }, services: [aBalancerService(80)], targets: [aServerTarget(1)], ...given });

function leave(
  mode: DepartureMode,
  services: readonly V1Service[],
  loadBalancers: readonly LoadBalancer[],
  { routes = [], certificates = [] }: { routes?: Network["routes"]; certificates?: readonly Certificate[] } = {},
) {
  const snapshot: Snapshot = {
    services,
    nodes: [aNode({ id: 1, podCIDRs: ["10.244.1.0/24"] })],
    cloud: {
      servers: [aServer({ id: 1, privateIp: "10.0.0.1" })],
      loadBalancers,
      certificates,
      network: aNetwork({ routes }),
    },
    now: 0,
  };
  return planDeparture(mode, snapshot, OPTIONS);
}

/** What becomes of each, and how many Services are let go right now. */
const summary = (departure: Departure) => [
  dispositionsOf(departure).map(({ disposition }) => disposition),
  departure.plan.map(({ kind }) => kind),
  departure.services.length,
];

describe("planning a departure", () => {
  const shared = own({ labels: { [OWNER]: UID, "lotse/foreign-listener-443": "true" } });
  const guarded = own({ protection: { delete: true } });
  it.each<[string, DepartureMode, readonly V1Service[], readonly LoadBalancer[], readonly unknown[]]>([
    ["destroy deletes a Service's balancer", "destroy", [ours()], [own()], [["deleted"], ["remove"], 0]],
    ["destroy lets a Service go when its balancer is gone", "destroy", [ours()], [], [[], [], 1]],
    ["destroy keeps what is protected", "destroy", [ours()], [guarded], [["stays"], [], 1]],
    [
      "destroy keeps what an annotation keeps",
      "destroy",
      [ours({ "on-delete": "keep" })],
      [own()],
      [["left behind"], ["make"], 0],
    ],
    ["destroy keeps what has foreign parts", "destroy", [ours()], [shared], [["left behind"], ["make"], 0]],
    [
      "destroy leaves other Services' balancers alone",
      "destroy",
      [ours()],
      [own({ labels: { [OWNER]: "x" } })],
      [[], [], 1],
    ],
    [
      "destroy leaves balancers without owner alone, whatever their name",
      "destroy",
      [ours({ name: "balancer" })],
      [aBalancer()],
      [[], [], 1],
    ],
    ["destroy does not choose between two", "destroy", [ours()], [own(), own({ id: 43 })], [[], [], 0]],
    [
      "nobody speaks of another class",
      "destroy",
      [aService({ loadBalancerClass: "x/y", finalizers: [FINALIZER] })],
      [own()],
      [[], [], 0],
    ],
    ["release leaves a balancer behind", "release", [ours()], [own()], [["left behind"], ["make"], 0]],
    ["release leaves a protected one behind", "release", [ours()], [guarded], [["left behind"], ["make"], 0]],
    ["release lets a Service go that has none", "release", [ours()], [], [[], [], 1]],
  ])("%s", (_, mode, services, balancers, expected) => {
    expect(summary(leave(mode, services, balancers))).toEqual(expected);
  });

  it("says why a load balancer stays or is left behind", () => {
    const why = (balancer: LoadBalancer) => dispositionsOf(leave("destroy", [ours()], [balancer]))[0]?.what;
    expect(why(guarded)).toMatch(/: it is protected against deletion$/);
    expect(why(shared)).toMatch(/: it has listeners or targets that do not belong to this Service$/);
    expect(why(own())).toMatch(/2001:db8:ffff::1$/);
  });

  it("release changes only labels, even of a load balancer with foreign parts", () => {
    for (const balancer of [own(), shared, guarded]) {
      const { plan } = leave("release", [ours()], [balancer]);
      const fields = plan.flatMap(({ differences }) => differences.map(({ field }) => field));
      expect(fields).toContain(`label ${OWNER}`);
      expect(fields.filter((field) => !field.startsWith("label "))).toEqual([]);
    }
  });

  it("destroy removes only routes to nodes and stale ones; release removes none", () => {
    const routes = [
      { destination: "10.244.1.0/24", gateway: "10.0.0.1" },
      { destination: "10.244.9.0/24", gateway: "10.0.0.9" },
      { destination: "192.168.0.0/16", gateway: "10.0.0.1" },
    ];
    const units = (mode: DepartureMode) =>
      leave(mode, [], [], { routes }).plan.map(({ kind, unit }) => `${kind} ${unit}`);
    expect(units("destroy")).toEqual(["remove route/10.244.1.0/24", "remove route/10.244.9.0/24"]);
    expect(units("release")).toEqual([]);
  });
});

describe("planning a departure with certificates", () => {
  const http = { cookie_name: "x", cookie_lifetime: 300, sticky_sessions: false, certificates: [77] };
  const presenting = (given: Partial<LoadBalancer> = {}) =>
    own({ services: [aBalancerService(443, { protocol: "https", http })], ...given });
  const theirs = presenting({ id: 9, name: "theirs", labels: {} });
  const keep = ours({ "on-delete": "keep" });
  const issued = anIssuedCertificate();
  const copy = anIssuedCertificate("completed", { id: 78, name: "copy" });
  /** What happens to certificates in this round, and how many Services are let go. */
  const certificatesIn = ({ plan, services }: Departure) => {
    const steps = plan.filter(({ unit }) => unit.startsWith("certificate/"));
    return [...steps.map((step) => (step.kind === "make" ? step.spec.kind : step.kind)), services.length];
  };

  it.each<[string, DepartureMode, V1Service, readonly LoadBalancer[], readonly Certificate[], readonly unknown[]]>([
    ["destroy waits for the balancer that presents it", "destroy", ours(), [presenting()], [issued], [0]],
    ["destroy removes it behind the balancer", "destroy", ours(), [], [issued], ["remove", 0]],
    ["destroy lets the Service go behind it", "destroy", ours(), [], [], [1]],
    ["destroy leaves what a kept balancer presents", "destroy", keep, [presenting()], [issued], ["certificate", 0]],
    ["destroy leaves what somebody else presents", "destroy", ours(), [theirs], [issued], ["certificate", 0]],
    ["release leaves it", "release", ours(), [presenting()], [issued], ["certificate", 0]],
    ["release leaves it when the balancer is gone", "release", ours(), [], [issued], ["certificate", 0]],
    ["release leaves one of two alike at a time", "release", ours(), [], [issued, copy], ["certificate", 0]],
    ["others' stay", "destroy", ours(), [], [aListedCertificate()], [1]],
  ])("%s", (_, mode, service, balancers, certificates, expected) => {
    expect(certificatesIn(leave(mode, [service], balancers, { certificates }))).toEqual(expected);
  });

  it("a released certificate keeps everything but its owner", () => {
    const listed = anIssuedCertificate("completed", {
      labels: { [OWNER]: UID, team: "a", "HC-Use-Staging-CA": "true" },
    });
    const { plan } = leave("release", [ours()], [], { certificates: [listed] });
    expect(plan).toMatchObject([
      {
        spec: { name: listed.name, labels: { "lotse/released": UID, team: "a", "HC-Use-Staging-CA": "true" } },
        differences: [OWNER, "lotse/released", "lotse/released-name", "lotse/released-namespace"].map((label) => ({
          field: `label ${label}`,
        })),
      },
    ]);
  });

  it("lists certificates before their load balancer is gone", () => {
    const dispositions = (mode: DepartureMode) =>
      dispositionsOf(leave(mode, [ours()], [presenting()], { certificates: [issued] }))
        .filter(({ object }) => object === `certificate ${issued.name}`)
        .map(({ disposition, what }) => `${disposition}: ${what}`);
    const what = "id 77, for example.com, of Service default/web";
    expect([dispositions("destroy"), dispositions("release")]).toEqual([
      [`deleted: ${what}`],
      [`left behind: ${what}`],
    ]);
  });
});

describe("the proof that nothing of a Service is left", () => {
  /** A cloud in which these are by themselves, whatever a list says. */
  const proofIn = (existing: Readonly<Record<string, Readonly<Record<string, string>>>>, now: () => number) =>
    new Absence({ labels: async (kind, id) => existing[`${kind} ${id}`] }, now);
  const issued = anIssuedCertificate();

  it.each<[string, Readonly<Record<string, Readonly<Record<string, string>>>>, readonly string[]]>([
    ["gone", {}, []],
    ["without owner", { "load_balancer 42": { "lotse/released": UID }, "certificate 77": {} }, []],
    [
      "still there",
      { "load_balancer 42": { [OWNER]: UID }, "certificate 77": { [OWNER]: UID } },
      [
        "load balancer balancer (id 42) still exists, but the API does not list it",
        `certificate ccm-managed-certificate-${UID} (id 77) still exists, but the API does not list it`,
      ],
    ],
  ])("a resource that is no longer listed: %s", async (_, existing, left) => {
    const proof = proofIn(existing, () => 0);
    proof.observe(leave("destroy", [ours()], [own()], { certificates: [issued] }).rendered);
    const after = leave("destroy", [ours()], []);
    proof.observe(after.rendered);
    expect((await unproven(after, proof)).flatMap((doubt) => doubt.left)).toEqual(left);
  });

  it("a protected load balancer is listed, so it needs no further proof", async () => {
    const proof = proofIn({ "load_balancer 42": { [OWNER]: UID } }, () => 0);
    const listed = leave("destroy", [ours()], [own({ protection: { delete: true } })]);
    proof.observe(listed.rendered);
    expect(await unproven(listed, proof)).toEqual([]);
  });

  it("a load balancer that was never listed is waited for if the Service has our finalizer", async () => {
    let now = 0;
    const proof = proofIn({}, () => now);
    const claimed = leave("release", [ours()], []);
    const waits = async (departure: Departure) => (await unproven(departure, proof)).map(({ waitMs }) => waitMs);
    proof.observe(claimed.rendered);
    expect([await waits(claimed), await waits(leave("release", [aService()], []))]).toEqual([[30_000], []]);
    now = 30_000;
    proof.observe(claimed.rendered);
    expect(await waits(claimed)).toEqual([]);
  });
});

describe("routes when the pod ranges are not known (B10)", () => {
  const routes = [
    { destination: "10.244.1.0/24", gateway: "10.0.0.1" },
    { destination: "10.9.0.0/24", gateway: "10.0.0.77" },
  ];
  const cloud = {
    servers: [aServer({ id: 1, privateIp: "10.0.0.1" })],
    loadBalancers: [],
    certificates: [],
    network: aNetwork({ routes }),
  };
  const snapshot = { services: [], nodes: [aNode({ id: 1, podCIDRs: ["10.244.1.0/24"] })], cloud, now: 0 };
  const listed = (mode: DepartureMode, clusterCidrs: readonly string[]) =>
    dispositionsOf(planDeparture(mode, snapshot, aRenderOptions({ clusterCidrs, networkId: NETWORK_ID }))).map(
      ({ object, disposition }) => `${object} ${disposition}`,
    );

  it("to the cluster's nodes are listed as left, those of others are not", () => {
    expect(listed("destroy", [])).toEqual(["route 10.244.1.0/24 stays"]);
    expect(listed("destroy", ["10.244.0.0/16"])).toEqual(["route 10.244.1.0/24 deleted"]);
  });

  it("are not mentioned by release, which never deletes them (B19)", () => {
    expect(listed("release", [])).toEqual([]);
  });
});

describe("the output of a departure", () => {
  const report = (given: Partial<DepartureReport>): DepartureReport => ({
    cluster: "test",
    context: "prod",
    server: "https://api",
    mode: "destroy",
    isDone: false,
    dispositions: dispositionsOf(leave("destroy", [ours()], [own()])),
    services: ["default/web"],
    refused: [],
    failures: [],
    notes: [],
    ...given,
  });
  const flags = { "cluster-cidr": "10.244.0.0/16", context: "my prod" };
  const next = {
    proceed: commandText(["destroy"], { ...flags, yes: true }),
    audit: commandText(["audit"], accessFlags(flags)),
  };
  const text = (given: Partial<DepartureReport>) => departureText(report(given), next);
  const KEPT = { object: "route 10.244.1.0/24", disposition: "stays", what: "via 10.0.0.1" } as const;

  it("names cluster, context and server, what would be deleted, and repeats the flags (B10)", () => {
    expect(text({})).toBe(`Cluster test (context prod, https://api): would delete its cloud resources
- Service default/web: deleted, load balancer balancer (id 42), 198.51.100.1, 2001:db8:ffff::1
would remove the finalizer from: default/web
to proceed: lotse destroy --cluster-cidr 10.244.0.0/16 --context 'my prod' --yes
`);
  });

  it("says whether it is done, failed, or had nothing to do", () => {
    expect(text({ isDone: true })).toMatch(
      /: deleted its cloud resources\n[\s\S]*\nremoved the finalizer from: .*\n.*lotse audit --context 'my prod'\n$/,
    );
    expect(text({ failures: ["x: busy"] })).toMatch(
      /tried to remove the finalizer[\s\S]*! failed: x: busy\nto continue: lotse destroy .* --yes\n$/,
    );
    expect(text({ dispositions: [], services: [] })).toBe(
      "Cluster test (context prod, https://api): nothing to destroy\n",
    );
  });

  it("says what is left, also when nothing else is there", () => {
    const { dispositions } = report({});
    expect(text({ isDone: true, dispositions: [...dispositions, KEPT] })).toMatch(
      /: deleted its cloud resources, except for those kept\n[\s\S]*= route 10\.244\.1\.0\/24: kept, via 10\.0\.0\.1\n/,
    );
    expect(text({ dispositions: [KEPT], services: [] })).toMatch(/: nothing to destroy\n= route [^\n]*\n$/);
  });
});

describe("the holder of a Lease", () => {
  const now = new Date("2026-11-16T12:00:20Z");
  const held = (renewTime: string, holderIdentity: string | null = "pod") => ({
    metadata: { name: "", namespace: "" },
    spec: { holderIdentity, renewTime, leaseDurationSeconds: 15 },
  });
  it.each([
    ["renewed lately", held("2026-11-16T12:00:06.000000Z"), "pod", ["a controller is running, stop it first: pod"]],
    ["by a clock that is ahead", held("2026-11-16T12:01:00.000000Z"), "pod", [expect.stringContaining("is running")]],
    ["run out", held("2026-11-16T12:00:05.000000Z"), undefined, []],
    ["given back", held("2026-11-16T12:00:19.000000Z", ""), undefined, []],
    [
      "never taken",
      undefined,
      undefined,
      ["no Lease found: make sure that no controller with --leader-elect=false is running"],
    ],
  ])("%s", (_, lease, holder, notes) => {
    expect(holderOf(lease, now)).toBe(holder);
    expect(leaseNotes(lease, now)).toEqual(notes);
  });
});

it.each([
  ["it is forced to", { namespace: "kube-system", name: "ccm" }, true],
  ["controllers elect no leader", undefined, false],
])("takes no Lease before it writes when %s", async (_, lease, isForced) => {
  const session = { config: { lease } } as Session;
  await expect(becomeSoleWriter(session, isForced)).resolves.toBe(ALONE);
});

it("reads no Lease when controllers elect no leader", async () => {
  const { client, config } = { config: {} } as Session;
  await expect(readLease(client, config)).resolves.toBeUndefined();
});
