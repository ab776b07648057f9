/** A program such as another project would write: every component once, connected by outputs. */
import { Certificate, Firewall, LoadBalancer, Network, Route, ServerPool } from "../../../stacks/components/index.ts";

const network = new Network("network", {
  name: "production",
  ipRange: "10.0.0.0/8",
  subnets: { machines: { ipRange: "10.0.0.0/24", networkZone: "eu-central" } },
});
const firewall = new Firewall("firewall", {
  name: "production",
  rules: [{ protocol: "tcp", port: "22", sourceIps: ["198.51.100.0/24"], description: "SSH" }],
});
const pool = new ServerPool("web", {
  serverType: "cx23",
  image: "ubuntu-24.04",
  location: "fsn1",
  firewallIds: [firewall.firewallId],
  placementGroup: "web",
  ...(network.subnetIds.machines && { subnetId: network.subnetIds.machines }),
  servers: { "1": { name: "web-1", ip: "10.0.0.11" }, "2": { name: "web-2" } },
});
const certificate = new Certificate("www-2026", { name: "www-2026", domains: ["www.example.com"] });
const balancer = new LoadBalancer("web", {
  name: "web",
  type: "lb11",
  location: "fsn1",
  network: { networkId: network.networkId },
  reverseDns: { ipv4: "www.example.com" },
  listeners: [
    {
      listenPort: 443,
      destinationPort: 8080,
      protocol: "https",
      http: { certificateIds: [certificate.certificateId] },
    },
  ],
  targets: Object.fromEntries(
    Object.entries(pool.servers).map(([key, { serverId }]) => [key, { serverId, usePrivateIp: true }]),
  ),
});
const route = new Route("pods", { networkId: network.networkId, destination: "10.244.1.0/24", gateway: "10.0.0.11" });

/** The stack's outputs. */
export const { ipv4, privateIp } = balancer;
export const { routeId } = route;
