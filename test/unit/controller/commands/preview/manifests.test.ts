import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  checkManifest,
  type Manifests,
  parseManifests,
  readManifests,
} from "../../../../../controller/commands/preview/manifests.ts";
import { applyManifests } from "../../../../../controller/commands/preview/overlay.ts";
import { loadValidator } from "../../../../../controller/commands/preview/validation.ts";
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

const SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n";

describe("manifests", () => {
  const dir = mkdtempSync(join(tmpdir(), "lotse-manifests-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const at = (name: string) => join(dir, name);
  const named = ({ services, nodes }: Manifests) => [...services, ...nodes].map(({ metadata }) => metadata?.name);
  mkdirSync(at("below"));
  mkdirSync(at(".github"));
  writeFileSync(at("a.yaml"), `${SERVICE}---\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n`);
  const items = [{ apiVersion: "v1", kind: "Node", metadata: { name: "n" } }];
  writeFileSync(at("below/b.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  writeFileSync(at("README.md"), "not: [a manifest");
  writeFileSync(at(".github/ci.yaml"), "on: push");

  it.each([
    ["a folder, without other kinds, other files and hidden folders", ["."], ["a", "n"]],
    ["a file and a folder", ["below", "a.yaml"], ["a", "n"]],
    ["a file that is named twice", ["a.yaml", "a.yaml"], ["a"]],
    ["a pattern that the shell left alone", ["**/*.json"], ["n"]],
  ])("are read from %s", async (_, paths, expected) => {
    expect(named(await readManifests(paths.map(at)))).toEqual(expected);
  });

  it("that do not exist are an error that names every path", async () => {
    await expect(readManifests([at("none"), at("a.yaml"), at("*.txt")])).rejects.toThrow(
      /none: no such file or folder\n.*\*\.txt: no such file or folder$/,
    );
  });

  it("that are invalid do not hide others, and are named with the position of the mistake (B20)", async () => {
    mkdirSync(at("mixed"));
    writeFileSync(at("mixed/broken.yaml"), "apiVersion: v1\nkind: Service\n\nA Kubernetes controller\n foo: bar\n");
    writeFileSync(at("mixed/good.yaml"), SERVICE);
    writeFileSync(at("mixed/text.yaml"), "just text");
    const read = await readManifests([at("mixed")]);
    expect(named(read)).toEqual(["a"]);
    expect(read.refused).toEqual([
      {
        object: at("mixed/broken.yaml"),
        mistakes: ["line 4, column 1: Implicit keys need to be on a single line"],
      },
      { object: at("mixed/text.yaml"), mistakes: ["not a Kubernetes manifest: apiVersion or kind is missing"] },
    ]);
  });

  it.each([
    ["null", 0],
    ["", 0],
    ["apiVersion: v1\nkind: ServiceList\nitems: []", 0],
  ])("may be empty: %j", (text, count) => {
    expect(parseManifests(text)).toHaveLength(count);
  });
});

describe("an object in a manifest", async () => {
  const validate = await loadValidator();
  const PREFIX = "load-balancer.hetzner.cloud/";
  const check = (kind: string, fields: string) => {
    const text = `apiVersion: v1\nkind: ${kind}\n${fields}`;
    return checkManifest("x.yaml", text, validate);
  };
  const port = (fields: string) => `metadata: {name: a}\nspec: {ports: [{${fields}}]}`;
  const annotated = (value: string) =>
    `metadata: {name: a, annotations: {${PREFIX}use-private-ip: ${value}}}\nspec: {ports: [{port: 80}]}`;

  it.each([
    ["Service", annotated('"true"')],
    ["Service", annotated("null")],
    [
      "Service",
      "metadata: {name: a, labels: null}\nspec: {type: null, ports: [{port: 80, protocol: null, name: null}]}",
    ],
    ["Service", "metadata: {name: a}\nspec: {type: ExternalName, ports: null}"],
    ["Service", port("port: 80, targetPort: http, nodePort: 30080, protocol: UDP")],
    ["Service", port("port: 80, targetPort: 8080")],
    ["Service", "metadata: {name: a, creationTimestamp: 2026-11-16T12:00:00Z}\nspec: {type: ExternalName}"],
    ["Service", "metadata: {name: a}\nspec: {clusterIP: None}"],
    ["Node", "metadata: {name: a.b, labels: {x: ''}}\nspec: {podCIDRs: [10.244.1.0/24], unschedulable: true}"],
    ["ConfigMap", "metadata: {}\ndata: {a: 1}"],
  ])("is accepted: %s %s", (kind, fields) => {
    expect(check(kind, fields).refused).toEqual([]);
  });

  it.each([
    [annotated("true"), `annotation ${PREFIX}use-private-ip: true is not a string: put it in quotes`],
    [annotated("yes"), `annotation ${PREFIX}use-private-ip: true is not a string: put it in quotes`],
    [annotated("5"), `annotation ${PREFIX}use-private-ip: 5 is not a string: put it in quotes`],
    [annotated("[a]"), `annotation ${PREFIX}use-private-ip: must be a string`],
    ["metadata: {name: a, labels: {b: 1}}", "label b: 1 is not a string: put it in quotes"],
    ["metadata: {name: a, annotations: [b]}", "metadata.annotations: must be an object with fields"],
    [port('port: "80"'), 'spec.ports[0].port: "80" is not a whole number: remove the quotes'],
    [port("port: web"), 'spec.ports[0].port: "web" is not a whole number'],
    [port("port: 80.5"), "spec.ports[0].port: 80.5 is not a whole number"],
    [port("port: 0"), "spec.ports[0].port: 0 must be from 1 to 65535"],
    [port("name: http"), "spec.ports[0].port: required"],
    [port("port: 80, nodePort: 70000"), "spec.ports[0].nodePort: 70000 must be from 1 to 65535"],
    [port("port: 80, protocol: tcp"), 'spec.ports[0].protocol: "tcp" is not one of TCP, UDP, SCTP'],
    [port("port: 80, prot: TCP"), "spec.ports[0].prot: unknown field, check its spelling"],
    [port("port: 80, name: one}, {port: 80, name: two"), "spec.ports[1]: 80/TCP is listed twice"],
    [port("port: 80}, {port: 81, name: two"), "spec.ports[0].name: required when there are several ports"],
    ["metadata: {name: a}", "spec.ports: at least one port is required"],
    ["metadata: {name: a}\nspec: {ports: 80}", "spec.ports: must be a list"],
    ["metadata: {name: a}\nspec: {ports: [null]}", "spec.ports[0]: must not be empty"],
    [
      "metadata: {name: a}\nspec: {ports: [{port: 80}], type: Loadbalancer}",
      'spec.type: "Loadbalancer" is not one of ClusterIP, NodePort, LoadBalancer, ExternalName',
    ],
    [
      'metadata: {name: a}\nspec: {ports: [{port: 80}], publishNotReadyAddresses: "true"}',
      'spec.publishNotReadyAddresses: "true" is not a boolean: remove the quotes',
    ],
  ])("is refused with its field and a remedy (B6): %s", (fields, mistake) => {
    expect(check("Service", fields).refused).toEqual([{ object: "x.yaml: Service default/a", mistakes: [mistake] }]);
  });

  it.each(["a.b", "a".repeat(64)])("is refused with a name that a Service cannot have: %s", (name) => {
    const { refused } = check("Service", `metadata: {name: ${name}}\nspec: {ports: [{port: 80}]}`);
    expect(refused).toMatchObject([
      { mistakes: [`metadata.name: "${name}" is not a name of at most 63 lower-case letters, digits and dashes`] },
    ]);
    expect(check("Node", `metadata: {name: ${name}}`).refused).toEqual([]);
  });

  it("is refused without a name, or with one that cannot be", () => {
    expect(check("Node", "metadata: {}").refused).toMatchObject([{ object: "x.yaml: Node without a name" }]);
    expect(check("Node", "metadata: {name: A_b}").refused).toMatchObject([
      { mistakes: [expect.stringContaining('metadata.name: "A_b" is not a name of lower-case letters')] },
    ]);
  });

  it.each([
    [
      "Service",
      `metadata: {name: a, annotations: {${PREFIX}name: null}}\nspec: {type: LoadBalancer, ports: [{port: 80}]}`,
    ],
    ["Node", "metadata: {name: a, annotations: {alpha.kubernetes.io/provided-node-ip: null}, labels: {x: null}}"],
  ])("does not have fields without a value: %s %s", (kind, fields) => {
    const { objects } = check(kind, fields);
    expect(objects).toHaveLength(1);
    expect(JSON.stringify(objects)).not.toContain("null");
  });

  it("does not hide others of its file", () => {
    const text = `${SERVICE}---\napiVersion: v1\nkind: Service\n${annotated("true")}`;
    expect(checkManifest("x.yaml", text, validate)).toMatchObject({ objects: [{}], refused: [{}] });
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
    expect(notes).toEqual([
      "new node ports are placeholders, because the API server assigns them: Service default/web",
    ]);
  });

  it("use a node port from the manifest, and never one that is in use", () => {
    const taken = aService({ name: "other", uid: "o", ports: [{ port: 1, nodePort: 30_000 }] });
    const { snapshot } = applyManifests(
      { ...EMPTY, services: [taken] },
      { services: [manifest({ ports: [{ port: 80, nodePort: 31_000 }, { port: 81 }] })], nodes: [] },
    );
    expect(snapshot.services[1]?.spec?.ports?.map(({ nodePort }) => nodePort)).toEqual([31_000, 30_001]);
  });

  it("use a placeholder for the health check of local traffic", () => {
    const local = manifest({ ports: [{ port: 80 }] });
    const spec = { ...local.spec, externalTrafficPolicy: "Local" };
    const { snapshot } = applyManifests(EMPTY, { services: [{ ...local, spec }], nodes: [] });
    expect(snapshot.services[0]?.spec?.healthCheckNodePort).toBe(30_001);
  });

  it("give a new Service the same placeholder UID each time, and note it", () => {
    const given = { services: [manifest({ ports: [{ port: 80 }] })], nodes: [] };
    const [first, second] = [applyManifests(EMPTY, given), applyManifests(EMPTY, given)];
    expect(first.snapshot.services[0]?.metadata?.uid).toMatch(/^00000000-0000-4000-8000-[0-9a-f]{12}$/);
    expect(second.snapshot.services[0]?.metadata?.uid).toBe(first.snapshot.services[0]?.metadata?.uid);
    expect(first.notes[1]).toBe("names derived from the UID are placeholders: Service default/web");
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
