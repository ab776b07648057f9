/** The cluster with more nodes than it has: what growing would do. Pure. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { RenderOptions, Snapshot } from "../cluster/desired.ts";
import { ConfigError } from "../errors.ts";
import type { Server } from "../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";
import { cloudProviderId } from "../node/provider-id.ts";
import type { Imagined } from "./overlay.ts";

/** Ids of servers that do not exist; the API is far from them. */
const FIRST_ID = 9_000_000_000;

/** The snapshot with nodes added until there are `count`, each on a server like the last one's. */
export function growTo(count: number, snapshot: Snapshot, options: RenderOptions): Imagined {
  const { nodes, cloud } = snapshot;
  if (count < nodes.length) {
    throw new ConfigError([
      `--node-count ${count}: there are ${nodes.length} nodes, and which of them would go is not known: preview a smaller cluster by draining nodes`,
    ]);
  }
  const model = nodes.map((node) => findServer(node, cloud.servers)).findLast((server) => server !== undefined);
  const ranges = freeRanges(nodes, options.clusterCidrs);
  const added = Array.from({ length: count - nodes.length }, (_, index) => ({
    server: inventServer(index, model, snapshot, options.networkId),
    range: ranges.next().value,
  }));
  const note = `new nodes are made up, ${added.length} on servers like ${model?.name ?? "none"}, with their addresses and pod ranges; the price of servers is not counted`;
  return {
    snapshot: {
      ...snapshot,
      nodes: [...nodes, ...added.map(({ server, range }) => inventNode(server, range))],
      cloud: { ...cloud, servers: [...cloud.servers, ...added.map(({ server }) => server)] },
    },
    notes: added.length > 0 ? [note] : [],
  };
}

function inventServer(
  index: number,
  model: Server | undefined,
  { cloud }: Snapshot,
  networkId: number | undefined,
): Server {
  const used = new Set(cloud.servers.flatMap(({ private_net }) => private_net.map(({ ip }) => ip)));
  const ip = cloud.network && addressesIn(cloud.network.ip_range, used, index);
  return {
    ...(model ?? {
      status: "running",
      labels: {},
      server_type: { name: "unknown" },
      location: { name: "fsn1", network_zone: "eu-central" },
    }),
    id: FIRST_ID + index,
    name: `new-node-${index + 1}`,
    public_net: { ipv4: { ip: `192.0.2.${(index % 254) + 1}` }, ipv6: null },
    private_net: networkId !== undefined && ip !== undefined ? [{ network: networkId, ip }] : [],
  };
}

/** The `index`th unused address from the end of a range, where nobody is likely to be. */
function addressesIn(range: string, used: ReadonlySet<string>, index: number): string | undefined {
  let value = toNumber(ipaddr.IPv4.broadcastAddressFromCIDR(range));
  const lowest = toNumber(ipaddr.IPv4.networkAddressFromCIDR(range));
  for (let left = index; value > lowest + 1; ) {
    value -= 1;
    if (!used.has(toAddress(value)) && left-- === 0) return toAddress(value);
  }
  return undefined;
}

function inventNode(server: Server, range: string | undefined): V1Node {
  return {
    metadata: { name: server.name, uid: server.name },
    spec: { providerID: cloudProviderId(server.id), ...(range !== undefined && { podCIDR: range, podCIDRs: [range] }) },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  };
}

/** Pod ranges of the size that nodes have (else /24) that no node has. */
function* freeRanges(nodes: readonly V1Node[], clusterCidrs: readonly string[]): Generator<string, undefined> {
  const used = new Set(nodes.flatMap(({ spec }) => spec?.podCIDRs ?? []));
  const whole = clusterCidrs.find((cidr) => ipaddr.IPv4.isValidCIDR(cidr));
  if (whole === undefined) return undefined;
  const like = [...used].find((cidr) => ipaddr.IPv4.isValidCIDR(cidr)) ?? "0.0.0.0/24";
  const bits = Number(like.split("/")[1]);
  const last = toNumber(ipaddr.IPv4.broadcastAddressFromCIDR(whole));
  for (let at = toNumber(ipaddr.IPv4.networkAddressFromCIDR(whole)); at <= last; at += 2 ** (32 - bits)) {
    const range = `${toAddress(at)}/${bits}`;
    if (!used.has(range)) yield range;
  }
  return undefined;
}

function toNumber(address: ipaddr.IPv4): number {
  return address.octets.reduce((sum, octet) => sum * 256 + octet, 0);
}

function toAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
