/** What the cloud says of a node, and what has to be written so that the Node says the same. */
import type { V1Node, V1NodeAddress, V1Taint } from "@kubernetes/client-node";
import type { NodeRecord } from "../../stacks/spec.ts";
import type { Server } from "../hcloud/api.ts";
import { type AddressFamily, applyProvidedIps, sameAddresses, serverAddresses } from "./addresses.ts";
import { adviseOnAddress, explainMissing } from "./hints.ts";
import { type LabelChanges, type LabelOptions, planLabels, zoneOf } from "./labels.ts";
import { cloudProviderId, parseProviderId } from "./provider-id.ts";

/** The taint that kubelet sets under `--cloud-provider=external`; it goes when a node is initialised. Matched by key alone. */
export const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";
const PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip";
export interface NodeOptions extends LabelOptions {
  readonly addressFamily: AddressFamily;
  readonly networkId?: number;
}

/** What is to be written to a Node. Absent parts are as they should be. */
export interface NodePatch extends LabelChanges {
  readonly providerId?: string;
  /** The taints to keep, when the node is to be initialised. */
  readonly taints?: readonly V1Taint[];
  readonly addresses?: readonly V1NodeAddress[];
}

/** A reason and a sentence for an Event. */
export interface NodeWarning {
  readonly reason: string;
  readonly message: string;
}

export type NodeVerdict =
  | { readonly kind: "foreign" }
  | {
      readonly kind: "ready";
      readonly server: Server;
      readonly patch: NodePatch;
      readonly isInitialisation: boolean;
      /** What a user should know before the patch is written. */
      readonly warnings: readonly NodeWarning[];
    }
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
  if (!server) return { kind: "refused", reason: explainMissing(node, servers), isFinal: false };

  const known = serverAddresses(server, options.addressFamily, options.networkId);
  const shaped = applyProvidedIps(known, node.metadata?.annotations?.[PROVIDED_IP]);
  if (!shaped.ok) {
    return {
      kind: "refused",
      reason: `${shaped.reason}: ${adviseOnAddress(server, options.networkId)}`,
      isFinal: false,
    };
  }
  return { kind: "ready", server, ...planPatch(node, server, shaped.addresses, options) };
}

function planPatch(node: V1Node, server: Server, addresses: readonly V1NodeAddress[], options: NodeOptions) {
  const taints = node.spec?.taints ?? [];
  const kept = taints.filter(({ key }) => key !== UNINITIALIZED_TAINT);
  const isInitialisation = kept.length !== taints.length;
  const patch: NodePatch = {
    ...(!node.spec?.providerID && { providerId: cloudProviderId(server.id) }),
    ...planLabels(node, server, options),
    ...(isInitialisation && { taints: kept }),
    ...(!sameAddresses(addresses, node.status?.addresses ?? []) && { addresses }),
  };
  return { patch, isInitialisation, warnings: warnOfLoss(node, server, addresses, options) };
}

/**
 * Without HCLOUD_NETWORK no private address is known, and one that a former run wrote goes: whoever unset it by mistake
 * hears of it first. What kubelet guessed on a node that is new and in no network is no loss.
 */
function warnOfLoss(
  node: V1Node,
  server: Server,
  addresses: readonly V1NodeAddress[],
  { networkId }: NodeOptions,
): readonly NodeWarning[] {
  const lost = (node.status?.addresses ?? []).find(
    ({ type, address }) => type === "InternalIP" && !addresses.some((kept) => kept.address === address),
  );
  const isNew = node.spec?.taints?.some(({ key }) => key === UNINITIALIZED_TAINT) ?? false;
  const isPrivate = server.private_net.some(({ ip }) => ip === lost?.address);
  if (networkId !== undefined || !lost || (isNew && !isPrivate)) return [];
  const message = `InternalIP ${lost.address} is removed, because HCLOUD_NETWORK is not set: set it to the cluster's network to keep private addresses`;
  return [{ reason: "InternalIPRemoved", message }];
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
