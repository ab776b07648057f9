import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { renderCluster } from "../../../../controller/render/cluster.ts";
import { decideNode } from "../../../../controller/render/node/metadata.ts";
import { nodeOutputs, unitOutputs } from "../../../../controller/render/outputs.ts";
import {
  aBalancer,
  aNetwork,
  aNode,
  aRenderOptions,
  aServer,
  aService,
  NETWORK_ID,
  UID,
} from "../../../support/builders.ts";

const OPTIONS = aRenderOptions({ clusterCidrs: ["10.244.0.0/16"], networkId: NETWORK_ID });
const SCHEMA = JSON.parse(readFileSync("docs/reference/outputs.schema.json", "utf8"));
const validate = new Ajv2020().compile(SCHEMA);
const OWNED = { "hcloud-ccm/service-uid": UID };

describe("outputs of Services and routes", () => {
  const outputs = (service: ReturnType<typeof aService>, balancer?: Parameters<typeof aBalancer>[0]) => {
    const node = aNode({ id: 1, podCIDRs: ["10.244.1.0/24"] });
    const servers = [aServer({ id: 1, privateIp: "10.0.0.1" })];
    const network = aNetwork({ routes: [{ destination: "10.244.1.0/24", gateway: "10.0.0.1" }] });
    const loadBalancers = balancer ? [aBalancer({ labels: OWNED, ...balancer })] : [];
    const cloud = { servers, loadBalancers, certificates: [], network };
    return unitOutputs(renderCluster({ now: 0, services: [service], nodes: [node], cloud }, OPTIONS));
  };

  it("have the addresses, ports and id of the load balancer", () => {
    const attached = { private_net: [{ network: NETWORK_ID, ip: "10.0.0.9" }] };
    expect(outputs(aService({ ports: [80] }), { id: 5, name: "lb", ...attached }).services).toEqual({
      "default/web": {
        uid: UID,
        loadBalancerId: 5,
        name: "lb",
        ipv4: "198.51.100.1",
        ipv6: "2001:db8:ffff::1",
        privateIp: "10.0.0.9",
        ports: [{ port: 80, nodePort: 30080, protocol: "TCP" }],
      },
    });
  });

  it("have the host name that the status shows, and no public address of a private load balancer", () => {
    const service = aService({ annotations: { hostname: "web.example.com" } });
    const found = outputs(service, { isPublic: false }).services;
    expect(found["default/web"]).toMatchObject({ hostname: "web.example.com" });
    expect(found["default/web"]).not.toHaveProperty("ipv4");
  });

  it("leave out a Service without a load balancer, and one that is being deleted", () => {
    const finalizers = ["service.kubernetes.io/load-balancer-cleanup"];
    expect(outputs(aService()).services).toEqual({});
    expect(outputs(aService({ isDeleted: true, finalizers }), {}).services).toEqual({});
  });

  it("name the Node of each route that exists", () => {
    expect(outputs(aService()).routes).toEqual({ "10.244.1.0/24": { gateway: "10.0.0.1", node: "node-1" } });
  });
});

describe("outputs of Nodes", () => {
  const decided = (node: ReturnType<typeof aNode>, server = aServer({ id: 1, privateIp: "10.0.0.1" })) => ({
    node,
    verdict: decideNode(node, { servers: [server], robots: { kind: "off" } }, OPTIONS),
  });

  it("are exactly what is written: also with --node-ip, which selects and orders addresses", () => {
    const annotations = { "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" };
    const node = aNode({ id: 1, podCIDRs: ["10.244.1.0/24"], annotations });
    const { nodes } = nodeOutputs([decided(node)]);
    const { verdict } = decided(node);
    const output = nodes["node-1"];
    expect(output?.addresses).toEqual(verdict.kind === "ready" && verdict.patch.addresses);
    expect(output?.addresses[0]).toEqual({ type: "InternalIP", address: "10.0.0.1" });
    expect(output?.labels).toMatchObject((verdict.kind === "ready" && verdict.patch.labels) || {});
    expect(output).toMatchObject({
      providerID: "hcloud://1",
      kind: "cloud",
      serverId: 1,
      podCIDRs: ["10.244.1.0/24"],
      labels: { "instance.hetzner.cloud/provided-by": "cloud", "topology.kubernetes.io/region": "fsn1" },
    });
  });

  it("leave out Nodes that are not served, and are sorted by name", () => {
    const nodes = [aNode({ name: "b", id: 1 }), aNode({ name: "x", id: 99 }), aNode({ name: "a", id: 1 })];
    expect(Object.keys(nodeOutputs(nodes.map((node) => decided(node))).nodes)).toEqual(["a", "b"]);
  });
});

describe("the JSON Schema of the outputs", () => {
  const node = aNode({ id: 1, podCIDRs: ["10.244.1.0/24"] });
  const cloud = {
    servers: [aServer({ id: 1, privateIp: "10.0.0.1" })],
    loadBalancers: [aBalancer({ labels: OWNED, private_net: [{ network: NETWORK_ID, ip: "10.0.0.9" }] })],
    certificates: [],
    network: aNetwork({ routes: [{ destination: "10.244.1.0/24", gateway: "10.0.0.1" }] }),
  };
  const service = aService({ annotations: { hostname: "web.example.com" } });
  const rendered = renderCluster({ now: 0, services: [service], nodes: [node], cloud }, OPTIONS);
  const verdict = decideNode(node, { servers: cloud.servers, robots: { kind: "off" } }, OPTIONS);
  const outputs = { schemaVersion: 1, ...unitOutputs(rendered), ...nodeOutputs([{ node, verdict }]) };

  it("accepts what is rendered, and names every field of it", () => {
    expect(validate(outputs), JSON.stringify(validate.errors)).toBe(true);
    const { service: ofService, node: ofNode, route: ofRoute } = SCHEMA.$defs;
    const fields = (of: Readonly<Record<string, object>>) => Object.keys(Object.values(of)[0] ?? {}).toSorted();
    expect(fields(outputs.services)).toEqual(Object.keys(ofService.properties).toSorted());
    expect(fields(outputs.nodes)).toEqual(Object.keys(ofNode.properties).toSorted());
    expect(fields(outputs.routes)).toEqual(Object.keys(ofRoute.properties).toSorted());
  });

  it.each(["schemaVersion", "services", "nodes", "routes"])("rejects outputs without %s", (name) => {
    expect(validate({ ...outputs, [name]: undefined })).toBe(false);
  });
});
