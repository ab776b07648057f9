/** Nodes on dedicated servers, from what Robot reports. */
import type { V1Node, V1NodeAddress } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { RobotInventory, RobotServer } from "../../robot/api.ts";
import { type AddressOptions, applyProvidedIps, firstAddress } from "./addresses.ts";
import { readExternalIpv6 } from "./external-ipv6.ts";
import type { MachineFacts } from "./labels.ts";
import type { NodeOptions, NodeVerdict, NodeWarning } from "./metadata.ts";
import { PROVIDED_IP, planPatch } from "./patch.ts";
import { parseProviderId, robotProviderId } from "./provider-id.ts";

/** The verdict on a node on a dedicated server; undefined for other nodes. */
export function decideRobotNode(node: V1Node, robots: RobotInventory, options: NodeOptions): NodeVerdict | undefined {
  const id = parseProviderId(node.spec?.providerID);
  if (id.kind === "none") {
    const named = listed(robots).find(({ server_name }) => server_name === node.metadata?.name);
    return named && decideFor(node, named, options);
  }
  if (id.kind !== "robot") return undefined;
  const server = listed(robots).find(({ server_number }) => server_number === id.number);
  return server ? decideFor(node, server, options) : refuse(id.number, robots);
}

function listed(inventory: RobotInventory): readonly RobotServer[] {
  return inventory.kind === "listed" ? inventory.servers : [];
}

function refuse(number: number, inventory: RobotInventory): NodeVerdict {
  switch (inventory.kind) {
    case "off":
      return refused(
        `dedicated server ${number} cannot be looked up: set ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD`,
        true,
      );
    case "unreadable":
      return refused(`dedicated server ${number} cannot be looked up in Robot: ${inventory.reason}`, false);
    case "listed":
      return refused(`Robot does not list dedicated server ${number}: check the account of ROBOT_USER`, false);
  }
}

function refused(reason: string, isFinal: boolean): NodeVerdict {
  return { kind: "refused", reason, isFinal };
}

function decideFor(node: V1Node, server: RobotServer, options: NodeOptions): NodeVerdict {
  const ipv6 = readExternalIpv6(node, options.addressFamily);
  if (!ipv6.ok) return ipv6.refusal;
  const external = robotAddresses(server, { ...options, externalIpv6: ipv6.address });
  const internal = forwardInternal(node, [...robotAddresses(server, EVERY_FAMILY), ...external], options);
  const known = [...external, ...internal.addresses];
  const shaped = applyProvidedIps(known, node.metadata?.annotations?.[PROVIDED_IP]);
  if (!shaped.ok) return refused(`${shaped.reason}: change --node-ip`, false);
  const machine = { providerId: robotProviderId(server.server_number), ...robotFacts(server) };
  return {
    kind: "ready",
    ...planPatch(node, { ...machine, addresses: shaped.addresses }, options),
    warnings: [...ipv6.warnings, ...internal.warnings, ...warnOfName(node, server)],
  };
}

const EVERY_FAMILY: AddressOptions = { addressFamily: "dualstack" };

/**
 * Host name, then IPv6 before IPv4, as in the official controller (N9). A server without IPv6 has no IPv6 address
 * unless its node declares one.
 */
export function robotAddresses(server: RobotServer, options: AddressOptions): readonly V1NodeAddress[] {
  const { addressFamily: family, externalIpv6 } = options;
  const net = server.server_ipv6_net?.split("/")[0] ?? "";
  const derived = ipaddr.IPv6.isValid(net) ? [firstAddress(net)] : [];
  const wanted = externalIpv6 === undefined ? derived : [externalIpv6];
  const ipv6 = family === "ipv4" ? [] : wanted;
  const ipv4 = family !== "ipv6" && server.server_ip ? [server.server_ip] : [];
  const external = [...ipv6, ...ipv4].map((address) => ({ type: "ExternalIP", address }));
  return [{ type: "Hostname", address: server.server_name }, ...external];
}

/** Robot knows no internal addresses: the node's own are kept if they are plausible (N10). */
function forwardInternal(node: V1Node, known: readonly V1NodeAddress[], options: NodeOptions) {
  const addresses: V1NodeAddress[] = [];
  const problems: string[] = [];
  const external = known.map(({ address }) => address);
  const existing = options.forwardInternalIps === false ? [] : (node.status?.addresses ?? []);
  for (const { type, address } of existing) {
    if (type !== "InternalIP" || !ipaddr.isValid(address)) continue;
    const isOtherFamily =
      options.addressFamily !== "dualstack" && ipaddr.parse(address).kind() !== options.addressFamily;
    const problem = external.includes(address)
      ? "is a public address of the server"
      : isOtherFamily && `does not match HCLOUD_INSTANCES_ADDRESS_FAMILY=${options.addressFamily}`;
    if (problem) problems.push(`InternalIP ${address} ${problem}`);
    else addresses.push({ type, address });
  }
  // One Event for all: only the last warning per reason is remembered, so that several would alternate forever.
  const warnings: readonly NodeWarning[] =
    problems.length > 0 ? [{ reason: "MisconfiguredInternalIP", message: problems.join("; ") }] : [];
  return { addresses, warnings };
}

/** The official controller deletes such a node (N5); we only report it. */
function warnOfName({ metadata }: V1Node, { server_number, server_name }: RobotServer): readonly NodeWarning[] {
  if (metadata?.name === server_name) return [];
  const message = `Robot lists server ${server_number} as "${server_name}", not "${metadata?.name}": give both the same name`;
  return [{ reason: "RobotNameMismatch", message }];
}

/** Type, region and zone of a dedicated server (N11 to N13). */
export function robotFacts({ product, dc }: RobotServer): MachineFacts {
  const zone = dc.toLowerCase();
  const type = product.replaceAll(" ", "-").replaceAll(/[^A-Za-z0-9_.-]/g, "");
  return {
    providedBy: "robot",
    // A label value has at most 63 characters, and starts and ends with a letter or digit.
    instanceType: type.slice(0, 63).replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, ""),
    region: zone.split("-")[0] ?? "",
    zone,
    labels: {},
  };
}
