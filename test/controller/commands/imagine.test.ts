import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { RenderOptions, Snapshot } from "../../../controller/cluster/desired.ts";
import { growTo } from "../../../controller/commands/grow.ts";
import { parseManifests, readManifests } from "../../../controller/commands/manifests.ts";
import { applyManifests } from "../../../controller/commands/overlay.ts";
import { paintFor } from "../../../controller/commands/paint.ts";
import { aNetwork, aNode, aServer, aService, NETWORK_ID } from "../../support/builders.ts";

const OPTIONS: RenderOptions = {
  addressFamily: "ipv4",
  zoneLabel: true,
  defaults: {},
  clusterCidrs: ["10.244.0.0/16"],
  networkId: NETWORK_ID,
};
const EMPTY: Snapshot = {
  services: [],
  nodes: [],
  now: 0,
  cloud: { servers: [], loadBalancers: [], certificates: [] },
};

describe("manifests", () => {
  const dir = mkdtempSync(join(tmpdir(), "lotse-manifests-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("are read from a folder and below, other kinds and files left out", () => {
    mkdirSync(join(dir, "below"));
    writeFileSync(
      join(dir, "a.yaml"),
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
    );
    const list = {
      apiVersion: "v1",
      kind: "List",
      items: [{ apiVersion: "v1", kind: "Node", metadata: { name: "n" } }],
    };
    writeFileSync(join(dir, "below", "b.json"), JSON.stringify(list));
    writeFileSync(join(dir, "README.md"), "not: [a manifest");
    const { services, nodes, others } = readManifests(dir);
    expect(services.map(({ metadata }) => metadata?.name)).toEqual(["a"]);
    expect(nodes.map(({ metadata }) => metadata?.name)).toEqual(["n"]);
    expect(others).toBe(1);
  });

  it("that cannot be read are all named, with the file", () => {
    writeFileSync(join(dir, "bad.yaml"), "a: [b");
    writeFileSync(join(dir, "worse.yaml"), "just text");
    expect(() => readManifests(dir)).toThrow(
      /--from .*bad\.yaml: [\s\S]*--from .*worse\.yaml: this is no Kubernetes manifest/,
    );
    expect(() => readManifests(join(dir, "none"))).toThrow(/--from .*none: ENOENT/);
  });

  it.each([
    ["null", 0],
    ["", 0],
    ["apiVersion: v1\nkind: ServiceList\nitems: []", 0],
  ])("may be empty: %j", (text, count) => {
    expect(parseManifests(text)).toHaveLength(count);
  });
});

describe("manifests over a cluster", () => {
  const manifest = (given: Parameters<typeof aService>[0] & { ports: object[] }) => {
    const { metadata, spec } = aService({ ...given, ports: given.ports as never });
    const { uid: _, namespace: __, ...rest } = metadata ?? {};
    return { metadata: rest, ...(spec && { spec }) };
  };

  it("keep the uid and the node ports of what exists, and make up those of new ports", () => {
    const observed = aService({ ports: [80] });
    const { snapshot, notes } = applyManifests(
      { ...EMPTY, services: [observed] },
      { services: [manifest({ ports: [{ port: 80 }, { port: 443 }] })], nodes: [] },
    );
    expect(snapshot.services).toHaveLength(1);
    expect(snapshot.services[0]?.metadata?.uid).toBe(observed.metadata?.uid);
    expect(snapshot.services[0]?.spec?.ports?.map(({ port, nodePort }) => [port, nodePort])).toEqual([
      [80, 30080],
      [443, 30000],
    ]);
    expect(notes).toEqual([
      "Service default/web: node port 30000 for port 443 is made up; the API server chooses when it is applied",
    ]);
  });

  it("take a node port from the manifest when it has one, and never one that is taken", () => {
    const taken = aService({ name: "other", uid: "o", ports: [{ port: 1, nodePort: 30_000 }] });
    const { snapshot } = applyManifests(
      { ...EMPTY, services: [taken] },
      { services: [manifest({ ports: [{ port: 80, nodePort: 31_000 }, { port: 81 }] })], nodes: [] },
    );
    expect(snapshot.services[1]?.spec?.ports?.map(({ nodePort }) => nodePort)).toEqual([31_000, 30_001]);
  });

  it("give a new Service the same made-up uid each time, and say so", () => {
    const given = { services: [manifest({ ports: [{ port: 80 }] })], nodes: [] };
    const [first, second] = [applyManifests(EMPTY, given), applyManifests(EMPTY, given)];
    expect(first.snapshot.services[0]?.metadata?.uid).toMatch(/^00000000-0000-4000-8000-[0-9a-f]{12}$/);
    expect(second.snapshot.services[0]?.metadata?.uid).toBe(first.snapshot.services[0]?.metadata?.uid);
    expect(first.notes[1]).toContain("does not exist yet");
  });

  it("take away annotations that kubectl applied and the manifest has no more; those of others stay", () => {
    const observed = aService({ annotations: { type: "lb21", location: "fsn1" } });
    const applied = { metadata: { annotations: { "load-balancer.hetzner.cloud/type": "lb21" } } };
    const annotations = {
      ...observed.metadata?.annotations,
      "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(applied),
    };
    const { snapshot } = applyManifests(
      { ...EMPTY, services: [{ ...observed, metadata: { ...observed.metadata, annotations } }] },
      { services: [manifest({ ports: [{ port: 80 }] })], nodes: [] },
    );
    expect(snapshot.services[0]?.metadata?.annotations).not.toHaveProperty(["load-balancer.hetzner.cloud/type"]);
    expect(snapshot.services[0]?.metadata?.annotations).toHaveProperty(
      ["load-balancer.hetzner.cloud/location"],
      "fsn1",
    );
  });

  it("label nodes that exist", () => {
    const labels = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };
    const node = { metadata: { name: "node-1", labels } };
    const { snapshot } = applyManifests({ ...EMPTY, nodes: [aNode({ id: 1 })] }, { services: [], nodes: [node] });
    expect(snapshot.nodes).toMatchObject([{ metadata: { labels }, spec: { providerID: "hcloud://1" } }]);
  });
});

describe("a cluster with more nodes", () => {
  const snapshot: Snapshot = {
    now: 0,
    services: [],
    nodes: [aNode({ id: 1, podCIDRs: ["10.244.0.0/24"] }), aNode({ id: 2, podCIDRs: ["10.244.2.0/24"] })],
    cloud: {
      servers: [aServer({ id: 1, privateIp: "10.0.0.254" }), aServer({ id: 2, type: "cx32", privateIp: "10.0.0.2" })],
      loadBalancers: [],
      certificates: [],
      network: aNetwork({ ip_range: "10.0.0.0/24" }),
    },
  };

  it("has new ones on servers like the last, with addresses and pod ranges that nobody has", () => {
    const { snapshot: grown, notes } = growTo(4, snapshot, OPTIONS);
    expect(grown.nodes.slice(2).map(({ spec }) => spec?.podCIDRs)).toEqual([["10.244.1.0/24"], ["10.244.3.0/24"]]);
    expect(grown.cloud.servers.slice(2).map(({ private_net }) => private_net)).toEqual([
      [{ network: NETWORK_ID, ip: "10.0.0.253" }],
      [{ network: NETWORK_ID, ip: "10.0.0.252" }],
    ]);
    expect(grown.cloud.servers[2]).toMatchObject({ name: "new-node-1", server_type: { name: "cx32" } });
    expect(notes[0]).toMatch(/^new nodes are made up, 2 on servers like node-2/);
  });

  it("is the same when there are that many", () => {
    expect(growTo(2, snapshot, OPTIONS)).toEqual({ snapshot, notes: [] });
  });

  it("does not say which nodes would go", () => {
    expect(() => growTo(1, snapshot, OPTIONS)).toThrow(/--node-count 1: there are 2 nodes/);
  });

  it("has no routes to give when the cluster has no pod range", () => {
    const { snapshot: grown } = growTo(3, snapshot, { ...OPTIONS, clusterCidrs: [] });
    expect(grown.nodes[2]?.spec).toEqual({ providerID: "hcloud://9000000000" });
  });
});

it.each([
  [{ isTTY: true }, {}, "\u001b[31mx\u001b[0m"],
  [{ isTTY: true }, { NO_COLOR: "1" }, "x"],
  [{ isTTY: true }, { TERM: "dumb" }, "x"],
  [{}, {}, "x"],
])("colours on %j with %j", (stream, env, expected) => {
  expect(paintFor(stream, env)("x", "red")).toBe(expected);
});
