/** Options that apply to a Service as a whole. */

import {
  boolean,
  cidr,
  dnsName,
  hostName,
  id,
  ipv4,
  labels,
  line,
  oneOf,
  selector,
  word,
} from "../../../formats/values.ts";
import { optionsOf } from "./option.ts";

const balancer = optionsOf("balancer");
const network = optionsOf("network");
const targets = optionsOf("targets");
const listener = optionsOf("listener");
const status = optionsOf("status");

/** Rows by option name. */
export const BALANCER_OPTIONS = {
  name: balancer("name", line(128), {
    unset: "`a` and the Service's UID; an existing load balancer keeps its name",
    doc: "Name of the load balancer. An existing load balancer with this name and without an owner is adopted; what is on it stays, and it outlives the Service.",
  }),
  id: balancer("id", id, {
    unset: "found by label, then by name",
    doc: "Id of an existing load balancer without an owner, to adopt it; what is on it stays, and it outlives the Service.",
  }),
  location: balancer("location", word(64), {
    env: "LOCATION",
    unset: "none; this or `network-zone` is required",
    doc: "Location of a new load balancer. An existing one is never moved. An empty value overrides the variable.",
  }),
  networkZone: balancer("network-zone", word(64), {
    env: "NETWORK_ZONE",
    unset: "none",
    doc: "Network zone of a new load balancer if no location is set. An empty value overrides the variable.",
  }),
  type: balancer("type", word(64), {
    env: "TYPE",
    unset: "`lb11`; an existing load balancer keeps its type",
    doc: "Type of the load balancer. Changed in place. An empty value overrides the variable.",
  }),
  algorithm: balancer("algorithm-type", oneOf("round_robin", "least_connections"), {
    env: "ALGORITHM_TYPE",
    unset: "`round_robin`",
    doc: "Load balancing algorithm.",
  }),
  labels: balancer("labels", labels, {
    unset: "none",
    doc: "Labels of the load balancer. Labels that were set elsewhere are kept.",
  }),
  deleteProtection: balancer("delete-protection", boolean, {
    unset: "`false`; protection that was enabled elsewhere is kept",
    doc: "Protect the load balancer against deletion. A protected load balancer is kept when its Service is deleted.",
  }),
  onDelete: balancer("on-delete", oneOf("delete", "keep"), {
    unset: "`delete`",
    doc: "What happens to the load balancer when the Service is deleted. `keep` leaves it in place without an owner, for a later Service of the same namespace and name that selects it with `name` or `id`.",
  }),
  disablePublicNetwork: network("disable-public-network", boolean, {
    env: "DISABLE_PUBLIC_NETWORK",
    unset: "`false`",
    doc: "Disable the public interface. Requires a network and `use-private-ip`.",
  }),
  usePrivateIp: network("use-private-ip", boolean, {
    env: "USE_PRIVATE_IP",
    unset: "`false`",
    doc: "Send traffic to nodes over the cluster's network.",
  }),
  privateIpv4: network("private-ipv4", ipv4, {
    unset: "assigned by the API",
    doc: "Address of the load balancer in the cluster's network. A change detaches and reattaches the load balancer.",
  }),
  privateSubnet: network("private-subnet-ip-range", cidr, {
    env: "PRIVATE_SUBNET_IP_RANGE",
    unset: "the network's last subnet; an attached load balancer stays in its subnet",
    doc: "Subnet of the cluster's network for the load balancer's address. A load balancer outside it is detached and reattached.",
  }),
  ipv4Rdns: network("ipv4-rdns", dnsName, {
    unset: "Hetzner's default",
    doc: "Reverse DNS name of the public IPv4 address.",
  }),
  ipv6Rdns: network("ipv6-rdns", dnsName, {
    unset: "none",
    doc: "Reverse DNS name of the public IPv6 address.",
  }),
  nodeSelector: targets("node-selector", selector, {
    unset: "all nodes",
    doc: "Label selector for the nodes that become targets.",
  }),
  appProtocol: listener("uses-app-protocol", boolean, {
    unset: "`false`",
    doc: "Use the `appProtocol` of a port as its protocol if it is tcp, http or https. It takes precedence over the `protocol` annotation for all ports, but not over one for that port.",
  }),
  hostname: status("hostname", hostName, {
    unset: "none",
    doc: "Host name to publish in the status instead of IP addresses.",
  }),
  disablePrivateIngress: status("disable-private-ingress", boolean, {
    env: "DISABLE_PRIVATE_INGRESS",
    unset: "`false`",
    doc: "Omit private addresses from the status. Required if kube-proxy uses IPVS.",
  }),
  ipv6Disabled: status("ipv6-disabled", boolean, {
    env: "DISABLE_IPV6",
    unset: "`false`",
    doc: "Omit the IPv6 address from the status. The load balancer still has it.",
  }),
} as const;
