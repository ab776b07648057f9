import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { renderCluster, type Snapshot } from "../../../../controller/render/cluster.ts";
import { loadBalancerUnit, routeUnit } from "../../../../stacks/units/names.ts";
import {
  aBalancer,
  aNetwork,
  aNode,
  aRenderOptions,
  aRoute,
  aServer,
  aService,
  NETWORK_ID,
  UID,
} from "../../../support/builders.ts";

const OWN = { "hcloud-ccm/service-uid": UID };
const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const OPTIONS = aRenderOptions({ zoneLabel: false, clusterCidrs: ["10.120.0.0/16"] });

function render(
  snapshot: Partial<Omit<Snapshot, "cloud">> & { cloud?: Partial<Snapshot["cloud"]> },
  options = OPTIONS,
) {
  const cloud = { servers: [], loadBalancers: [], certificates: [], ...snapshot.cloud };
  return renderCluster({ services: [], nodes: [], now: 0, ...snapshot, cloud }, options);
}

describe("Services", () => {
  it("renders nothing for an empty cluster", () => {
    expect(render({})).toEqual({ services: [], existing: {} });
  });

  it("framework S01, S03, S07, S08, S10: ignores Services that are not ours", () => {
    const services = [aService({ type: "ClusterIP" }), aService({ loadBalancerClass: "other" })];
    expect(render({ services }).services).toEqual([]);
  });

  it("renders a load balancer that does not exist yet", () => {
    const { services, existing } = render({ services: [aService()] });
    expect(services).toMatchObject([{ kind: "balance", unit: UNIT, spec: { service: { uid: UID } } }]);
    expect(existing).toEqual({});
  });

  it("finds its load balancer by label, and compares with it", () => {
    const { services, existing } = render({
      services: [aService()],
      cloud: { loadBalancers: [aBalancer({ id: 7, name: "renamed by hand", labels: OWN })] },
    });
    expect(existing[UNIT]).toMatchObject({ id: 7, name: "renamed by hand" });
    expect(services[0]).not.toHaveProperty("adopts");
  });

  it("HCCM S11: adopts one with the requested name and without an owner", () => {
    const service = aService({ annotations: { name: "edge" } });
    const { services, existing } = render({
      services: [service],
      cloud: { loadBalancers: [aBalancer({ id: 7, name: "edge" })] },
    });
    expect(services).toMatchObject([{ kind: "balance", adopts: 7 }]);
    expect(existing[UNIT]).toMatchObject({ id: 7 });
  });

  it("adopts by the default name as well, as after a migration", () => {
    const balancer = aBalancer({ id: 7, name: "a0c7e1a529d3b4f608a715b2e6f4d9c1" });
    for (const annotations of [{}, { name: "" }]) {
      const { services } = render({ services: [aService({ annotations })], cloud: { loadBalancers: [balancer] } });
      expect(services).toMatchObject([{ kind: "balance", adopts: 7 }]);
    }
  });

  it("unlike HCCM S18: refuses the name of another Service's load balancer", () => {
    const balancer = aBalancer({ name: "edge", labels: { "hcloud-ccm/service-uid": "another" } });
    const { services, existing } = render({
      services: [aService({ annotations: { name: "edge" } })],
      cloud: { loadBalancers: [balancer] },
    });
    expect(services).toMatchObject([{ kind: "refused", mistakes: [expect.stringContaining('"edge"')] }]);
    expect(existing).toEqual({});
  });

  it.each([
    ["is free", []],
    ["has no owner", [aBalancer({ name: "edge" })]],
  ])("unlike HCCM S18: gives a name that %s to the first of two Services that request it", (_, loadBalancers) => {
    const first = aService({ name: "first", uid: "1", annotations: { name: "edge" } });
    const second = aService({ name: "second", uid: "2", annotations: { name: "edge" } });
    const { services, existing } = render({ services: [first, second], cloud: { loadBalancers } });
    expect(services).toMatchObject([
      { kind: "balance", service: first },
      { kind: "refused", service: second, mistakes: [expect.stringContaining("default/first")] },
    ]);
    expect(Object.keys(existing)).toHaveLength(loadBalancers.length);
  });

  it("does not let a new Service's name affect the Service that has the load balancer", () => {
    const late = aService({ name: "late", uid: "1", annotations: { name: "edge" } });
    const owner = aService({ name: "owner", annotations: { name: "edge" } });
    const { services } = render({
      services: [late, owner],
      cloud: { loadBalancers: [aBalancer({ name: "edge", labels: OWN })] },
    });
    const mistake = expect.stringContaining('"edge" (id 42) already belongs to Service default/owner');
    expect(services).toMatchObject([{ kind: "refused", mistakes: [mistake] }, { kind: "balance" }]);
  });

  it("HCCM S10: refuses to choose between two load balancers with its label", () => {
    const loadBalancers = [aBalancer({ id: 1, labels: OWN }), aBalancer({ id: 2, labels: OWN })];
    const { services } = render({ services: [aService()], cloud: { loadBalancers } });
    expect(services).toMatchObject([{ kind: "refused", mistakes: [expect.stringContaining("1 and 2")] }]);
  });

  it("keeps a load balancer attached whose Service asks for an alias IP of a server", () => {
    const privateNets = [{ network: NETWORK_ID, ip: "10.0.0.2", alias_ips: ["10.0.0.9"] }];
    const private_net = [{ network: NETWORK_ID, ip: "10.0.0.5" }];
    const { services } = render(
      {
        services: [aService({ annotations: { "private-ipv4": "10.0.0.9" } })],
        cloud: {
          servers: [aServer({ privateNets })],
          loadBalancers: [aBalancer({ labels: OWN, private_net })],
          network: aNetwork(),
        },
      },
      { ...OPTIONS, networkId: NETWORK_ID },
    );
    const mistakes = [expect.stringContaining("10.0.0.9 belongs to another server or load balancer")];
    expect(services).toMatchObject([{ kind: "balance", mistakes }]);
  });

  it("renders nothing for an invalid Service unless it has a load balancer, and renders the others", () => {
    const annotations = { protocol: "x", "algorithm-type": "least_connections" };
    const { services, existing } = render({
      services: [
        aService({ annotations }),
        aService({ name: "new", uid: "2", annotations }),
        aService({ name: "fine", uid: "3" }),
      ],
      cloud: { loadBalancers: [aBalancer({ labels: OWN })] },
    });
    expect(services).toMatchObject([
      { kind: "balance", spec: { algorithm: "least_connections", listeners: [] }, mistakes: [expect.any(String)] },
      { kind: "refused", mistakes: [expect.stringContaining("protocol")] },
      { kind: "balance", mistakes: [] },
    ]);
    expect(existing[UNIT]).toBeDefined();
  });

  describe("that are deleted", () => {
    const leaving = aService({ isDeleted: true, finalizers: [FINALIZER] });

    it("framework S05: are released with the load balancer that has their label", () => {
      const { services, existing } = render({
        services: [leaving],
        cloud: { loadBalancers: [aBalancer({ labels: OWN })] },
      });
      expect(services).toMatchObject([{ service: leaving, unit: UNIT, kind: "retire" }]);
      expect(existing[UNIT]).toMatchObject({ id: 42 });
    });

    it("HCCM S21: never remove a load balancer that only has the name", () => {
      const loadBalancers = [aBalancer({ name: "a0c7e1a529d3b4f608a715b2e6f4d9c1" })];
      expect(render({ services: [leaving], cloud: { loadBalancers } }).existing).toEqual({});
    });

    it("unlike HCCM S22: are released whatever their annotations are", () => {
      const service = aService({
        isDeleted: true,
        finalizers: [FINALIZER],
        annotations: { "ipv6-disabled": "x", bad: "y" },
      });
      expect(render({ services: [service] }).services).toMatchObject([{ kind: "retire" }]);
    });
  });
});

describe("routes", () => {
  const node = aNode({ id: 1, podCIDRs: ["10.120.0.0/24"] });
  const servers = [aServer({ id: 1, privateIp: "10.0.0.1" })];

  it("are not rendered without a network or without pod CIDRs", () => {
    expect(render({ nodes: [node], cloud: { servers } })).not.toHaveProperty("routes");
    const cloud = { servers, network: aNetwork() };
    expect(render({ nodes: [node], cloud }, { ...OPTIONS, clusterCidrs: [] })).not.toHaveProperty("routes");
  });

  it("are wanted, stale, or not ours", () => {
    const routes = [
      { destination: "10.120.0.0/24", gateway: "10.0.0.99" },
      { destination: "10.120.5.0/24", gateway: "10.0.0.5" },
      { destination: "192.168.0.0/24", gateway: "10.0.0.6" },
    ];
    const rendered = render({ nodes: [node], cloud: { servers, network: aNetwork({ routes }) } });
    expect(rendered.routes).toEqual({
      wanted: [{ node: "node-1", spec: aRoute("10.120.0.0/24", "10.0.0.1") }],
      refused: [],
      kept: [],
      stale: [aRoute("10.120.5.0/24", "10.0.0.5")],
    });
    expect(rendered.existing).toEqual({
      [routeUnit({ destination: "10.120.0.0/24" })]: aRoute("10.120.0.0/24", "10.0.0.99"),
      [routeUnit({ destination: "10.120.5.0/24" })]: aRoute("10.120.5.0/24", "10.0.0.5"),
    });
  });
});
