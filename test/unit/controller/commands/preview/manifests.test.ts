import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseManifests, readManifests } from "../../../../../controller/commands/preview/manifests.ts";
import { applyManifests } from "../../../../../controller/commands/preview/overlay.ts";
import { type RenderOptions, renderCluster, type Snapshot } from "../../../../../controller/render/cluster.ts";
import { aNetwork, aNode, aServer, aService, NETWORK_ID } from "../../../../support/builders.ts";

const OPTIONS: RenderOptions = {
  addressFamily: "ipv4",
  zoneLabel: true,
  defaults: { location: "fsn1" },
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

  it("are read from a folder recursively, without other kinds and files", () => {
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

  it("that are invalid are all reported, with their files", () => {
    writeFileSync(join(dir, "bad.yaml"), "a: [b");
    writeFileSync(join(dir, "worse.yaml"), "just text");
    expect(() => readManifests(dir)).toThrow(
      /--from .*bad\.yaml: [\s\S]*--from .*worse\.yaml: not a Kubernetes manifest/,
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

describe("manifests applied to a snapshot", () => {
  const manifest = (given: Parameters<typeof aService>[0] & { ports: object[] }) => {
    const { metadata, spec } = aService({ ...given, ports: given.ports as never });
    const { uid: _, namespace: __, ...rest } = metadata ?? {};
    return { metadata: rest, ...(spec && { spec }) };
  };

  it("keep the UID and node ports of existing Services, and use placeholders for new ports", () => {
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
    expect(notes).toEqual(["Service default/web: new node ports are placeholders; the API server assigns them"]);
  });

  it("use a node port from the manifest, and never one that is in use", () => {
    const taken = aService({ name: "other", uid: "o", ports: [{ port: 1, nodePort: 30_000 }] });
    const { snapshot } = applyManifests(
      { ...EMPTY, services: [taken] },
      { services: [manifest({ ports: [{ port: 80, nodePort: 31_000 }, { port: 81 }] })], nodes: [] },
    );
    expect(snapshot.services[1]?.spec?.ports?.map(({ nodePort }) => nodePort)).toEqual([31_000, 30_001]);
  });

  it("give a new Service the same placeholder UID each time, and note it", () => {
    const given = { services: [manifest({ ports: [{ port: 80 }] })], nodes: [] };
    const [first, second] = [applyManifests(EMPTY, given), applyManifests(EMPTY, given)];
    expect(first.snapshot.services[0]?.metadata?.uid).toMatch(/^00000000-0000-4000-8000-[0-9a-f]{12}$/);
    expect(second.snapshot.services[0]?.metadata?.uid).toBe(first.snapshot.services[0]?.metadata?.uid);
    expect(first.notes[1]).toContain("does not exist yet");
  });

  it("remove annotations that kubectl applied and that are gone from the manifest; others stay", () => {
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

  it("label existing nodes", () => {
    const labels = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };
    const node = { metadata: { name: "node-1", labels } };
    const { snapshot } = applyManifests({ ...EMPTY, nodes: [aNode({ id: 1 })] }, { services: [], nodes: [node] });
    expect(snapshot.nodes).toMatchObject([{ metadata: { labels }, spec: { providerID: "hcloud://1" } }]);
  });

  it("add nodes, which get targets and routes if their servers exist, and a note otherwise", () => {
    const cloud = {
      servers: [aServer({ id: 1, privateIp: "10.0.0.1" }), aServer({ id: 2, privateIp: "10.0.0.2" })],
      loadBalancers: [],
      certificates: [],
      network: aNetwork(),
    };
    const observed = {
      ...EMPTY,
      services: [aService()],
      nodes: [aNode({ id: 1, podCIDRs: ["10.244.1.0/24"] })],
      cloud,
    };
    const added = [
      { metadata: { name: "node-2" }, spec: { podCIDRs: ["10.244.2.0/24"] } },
      { metadata: { name: "node-9" }, spec: { podCIDRs: ["10.244.9.0/24"] } },
      { metadata: { name: "dedicated" }, spec: { providerID: "hrobot://7" } },
    ];
    const { snapshot, notes } = applyManifests(observed, { services: [], nodes: added });
    const { services, routes } = renderCluster(snapshot, OPTIONS);
    expect(services).toMatchObject([{ spec: { targets: [{ serverId: 1 }, { serverId: 2 }] } }]);
    expect(routes?.wanted.map(({ spec }) => [spec.destination, spec.gateway])).toEqual([
      ["10.244.1.0/24", "10.0.0.1"],
      ["10.244.2.0/24", "10.0.0.2"],
    ]);
    expect(notes).toEqual(["Node node-9 has no server in this project, so it gets no target and no route"]);
  });
});
