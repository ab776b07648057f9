/** Snapshots that take long to render unless care is taken: very large objects, and very many of them. */
import type { V1Secret, V1Service, V1ServicePort } from "@kubernetes/client-node";
import type { Snapshot } from "../../controller/render/cluster.ts";
import { aBalancer, aBalancerService, aNode, aServer, aServerTarget, aService } from "./builders.ts";
import { aPair, aTlsSecret } from "./certificates.ts";

const PREFIX = "load-balancer.hetzner.cloud/";
const uid = (index: number) => `${String(index).padStart(8, "0")}-0000-4000-8000-000000000000`;
const range = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
const TYPES = ["lb11", "lb21", "lb31"].map((name) => ({ name, max_services: 30, max_targets: 100 }));
const CATALOGUE = { types: TYPES, locations: [{ name: "fsn1", network_zone: "eu-central" }] };

function aSnapshot(services: readonly V1Service[], more: Partial<Snapshot> = {}): Snapshot {
  const cloud = { servers: [aServer({ id: 1 })], loadBalancers: [], certificates: [], catalogue: CATALOGUE };
  return { services, nodes: [aNode({ id: 1 })], cloud, now: Date.now(), ...more };
}

/** Unknown annotations of 256 kB in total, the limit of the API server, each just short enough to look like a typo. */
export function manyAnnotations(): Snapshot {
  const keys = range(2_800, (index) => PREFIX + index.toString(36).padStart(6, "x").padEnd(63, "y"));
  const service = aService();
  return aSnapshot([
    { ...service, metadata: { ...service.metadata, annotations: Object.fromEntries(keys.map((key) => [key, ""])) } },
  ]);
}

/** 10,000 ports without node ports, every other one for UDP. */
export function manyPorts(): Snapshot {
  const ports = range(
    10_000,
    (index): V1ServicePort => ({ name: `p${index}`, port: index + 1, protocol: index % 2 ? "TCP" : "UDP" }),
  );
  return aSnapshot([aService({ ports })]);
}

/** 25 Secrets on 30 ports, each with a chain of about `bytes`. */
export function manySecrets(bytes: number): Snapshot {
  const names = range(25, (index) => `tls-${index}`);
  const pair = aPair();
  const certificate = pair.certificate.repeat(Math.ceil(bytes / pair.certificate.length));
  const secrets = names.map((name): V1Secret => aTlsSecret(name, { ...pair, certificate }));
  const annotations = { protocol: "https", "tls-secret": names.join(",") };
  return aSnapshot([aService({ annotations, ports: range(30, (index) => 1_000 + index) })], {
    secrets: [{ secrets }],
  });
}

/** Nodes and Services whose load balancers have 100 targets each. */
export function manyServices(services: number, nodes: number): Snapshot {
  const servers = range(nodes, (index) => aServer({ id: index + 1, ipv4: "203.0.113.1" }));
  const targets = servers.slice(0, 100).map(({ id }) => aServerTarget(id));
  const wanted = range(services, (index) =>
    aService({ name: `s${index}`, uid: uid(index), ports: [80, 443], annotations: { type: "lb31" } }),
  );
  const loadBalancers = wanted.map((_, index) =>
    aBalancer({
      id: 10_000 + index,
      name: `b${index}`,
      load_balancer_type: { name: "lb31" },
      labels: { "hcloud-ccm/service-uid": uid(index) },
      services: [aBalancerService(80), aBalancerService(443)],
      targets,
    }),
  );
  const cloud = { servers, loadBalancers, certificates: [], catalogue: CATALOGUE };
  return aSnapshot(wanted, { nodes: range(nodes, (index) => aNode({ id: index + 1, ready: "True" })), cloud });
}

/** A node selector of 256 kB that every node has to be compared with. */
export function manyTerms(): Snapshot {
  const terms = range(60_000, () => "!x").join(",");
  const { nodes, cloud } = manyServices(0, 1_000);
  return aSnapshot([aService({ annotations: { "node-selector": terms } })], { nodes, cloud });
}
