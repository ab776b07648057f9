/** What the cloud says of a node, and what has to be written so that the Node says the same. */
import type { V1Node, V1NodeAddress, V1Taint } from "@kubernetes/client-node";
import type { NodeRecord } from "../../stacks/spec.ts";
import type { Server } from "../hcloud/api.ts";
import { type AddressFamily, applyProvidedIps, sameAddresses, serverAddresses } from "./addresses.ts";
import { cloudProviderId, parseProviderId } from "./provider-id.ts";

/** The taint that kubelet sets under `--cloud-provider=external`; it goes when a node is initialised. Matched by key alone. */
export const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";
const PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip";
const PROVIDED_BY = "instance.hetzner.cloud/provided-by";

/** Zone names are those of the former data centres, which nodes have carried for years (N13). */
const ZONES: Readonly<Record<string, string>> = {
  nbg1: "nbg1-dc3",
  hel1: "hel1-dc2",
  fsn1: "fsn1-dc14",
  ash: "ash-dc1",
  hil: "hil-dc1",
  sin: "sin-dc1",
};

export interface NodeOptions {
  readonly addressFamily: AddressFamily;
  readonly zoneLabel: boolean;
  readonly networkId?: number;
}

/** What is to be written to a Node. Absent parts are as they should be. */
export interface NodePatch {
  readonly providerId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The taints to keep, when the node is to be initialised. */
  readonly taints?: readonly V1Taint[];
  readonly addresses?: readonly V1NodeAddress[];
}

export type NodeVerdict =
  | { readonly kind: "foreign" }
  | { readonly kind: "ready"; readonly server: Server; readonly patch: NodePatch; readonly isInitialisation: boolean }
  /** `isFinal`: nothing that the cloud may list later would change it. */
  | { readonly kind: "refused"; readonly reason: string; readonly isFinal: boolean };

/** The server behind a node: by ProviderID, else by name. */
export function findServer(node: V1Node, servers: readonly Server[]): Server | undefined {
  const id = parseProviderId(node.spec?.providerID);
  if (id.kind === "cloud") return servers.find((server) => server.id === id.id);
  return id.kind === "none" ? servers.find((server) => server.name === node.metadata?.name) : undefined;
}

/** What to do with one node. A node that cannot be initialised is refused with the cause and the fix. */
export function decideNode(node: V1Node, servers: readonly Server[], options: NodeOptions): NodeVerdict {
  const id = parseProviderId(node.spec?.providerID);
  if (id.kind === "foreign") return { kind: "foreign" };
  if (id.kind === "malformed")
    return { kind: "refused", reason: `its providerID "${id.text}" is not hcloud://<server id>`, isFinal: true };
  if (id.kind === "robot") {
    const reason = `it is dedicated server ${id.number}, which this version does not support`;
    return { kind: "refused", reason, isFinal: true };
  }
  const server = findServer(node, servers);
  if (!server) return { kind: "refused", reason: missingServer(node), isFinal: false };

  const known = serverAddresses(server, options.addressFamily, options.networkId);
  const shaped = applyProvidedIps(known, node.metadata?.annotations?.[PROVIDED_IP]);
  if (!shaped.ok) {
    const hint =
      options.networkId === undefined
        ? ": set HCLOUD_NETWORK if it is a private address"
        : ": attach the server to the network, or change --node-ip";
    return { kind: "refused", reason: shaped.reason + hint, isFinal: false };
  }
  return { kind: "ready", server, ...planPatch(node, server, shaped.addresses, options) };
}

function planPatch(node: V1Node, server: Server, addresses: readonly V1NodeAddress[], options: NodeOptions) {
  const taints = node.spec?.taints ?? [];
  const kept = taints.filter(({ key }) => key !== UNINITIALIZED_TAINT);
  const isInitialisation = kept.length !== taints.length;
  const labels = changedLabels(node, server, options);
  const patch: NodePatch = {
    ...(!node.spec?.providerID && { providerId: cloudProviderId(server.id) }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(isInitialisation && { taints: kept }),
    ...(!sameAddresses(addresses, node.status?.addresses ?? []) && { addresses }),
  };
  return { patch, isInitialisation };
}

/** The labels of a server; each of the three has a beta twin that old selectors use. */
function serverLabels(server: Server, { zoneLabel }: NodeOptions): Readonly<Record<string, string>> {
  const zone = zoneOf(server);
  return {
    "node.kubernetes.io/instance-type": server.server_type.name,
    "beta.kubernetes.io/instance-type": server.server_type.name,
    "topology.kubernetes.io/region": server.location.name,
    "failure-domain.beta.kubernetes.io/region": server.location.name,
    ...(zoneLabel && { "topology.kubernetes.io/zone": zone, "failure-domain.beta.kubernetes.io/zone": zone }),
  };
}

function changedLabels(node: V1Node, server: Server, options: NodeOptions): Record<string, string> {
  const present = node.metadata?.labels ?? {};
  const wanted = { ...serverLabels(server, options), [PROVIDED_BY]: present[PROVIDED_BY] ?? "cloud" };
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => present[key] !== value));
}

function zoneOf(server: Server): string {
  return ZONES[server.location.name] ?? server.location.name;
}

function missingServer(node: V1Node): string {
  const { name } = node.metadata ?? {};
  return node.spec?.providerID
    ? `no server with providerID ${node.spec.providerID} exists in this project: delete the node if the server is gone, or check HCLOUD_TOKEN's project`
    : `no server named "${name}" exists in this project: node and server must have the same name, or the node a providerID`;
}

/** The node as the stack's outputs record it. */
export function nodeRecord(node: V1Node, server: Server, options: NodeOptions): NodeRecord {
  return {
    providerId: node.spec?.providerID ?? cloudProviderId(server.id),
    instanceType: server.server_type.name,
    region: server.location.name,
    ...(options.zoneLabel && { zone: zoneOf(server) }),
    addresses: serverAddresses(server, options.addressFamily, options.networkId).map(({ address }) => address),
  };
}
