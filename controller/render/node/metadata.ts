/** What to write to a Node so that it describes its server. */
import type { V1Node, V1NodeAddress } from "@kubernetes/client-node";
import type { Server } from "../../hcloud/api.ts";
import type { EventReason } from "../../publish/events.ts";
import type { Notice } from "../../publish/writes.ts";
import type { RobotInventory } from "../../robot/api.ts";
import { type AddressOptions, applyProvidedIps, serverAddresses } from "./addresses.ts";
import { readExternalIpv6 } from "./external-ipv6.ts";
import { adviseOnAddress, explainMissing } from "./hints.ts";
import { type LabelOptions, serverFacts } from "./labels.ts";
import { isUninitialised, type PlannedPatch, PROVIDED_IP, planPatch } from "./patch.ts";
import { cloudProviderId, parseProviderId } from "./provider-id.ts";
import { decideRobotNode } from "./robot.ts";

/** Settings for nodes. */
export interface NodeOptions extends LabelOptions, Omit<AddressOptions, "externalIpv6"> {
  /** Whether nodes on dedicated servers keep their internal addresses; default true. */
  readonly forwardInternalIps?: boolean;
}

/** Reason and message of an Event. */
export type NodeWarning = Pick<Notice, "reason" | "message">;

/** What to do with a node: leave it to its provider, patch it, or report why that is impossible. */
export type NodeVerdict =
  | { readonly kind: "foreign"; readonly providerId: string }
  | (PlannedPatch & {
      readonly kind: "ready";
      /** Reported before the patch is written. */
      readonly warnings: readonly NodeWarning[];
    })
  | {
      readonly kind: "refused";
      readonly reason: string;
      /** Whether a newer list of servers could not change the verdict. */
      readonly isFinal: boolean;
      /** Reason of the Event, where the official controller has one. */
      readonly event?: EventReason;
    };

/** The server of a node: by ProviderID, otherwise by name. */
export function findServer(node: V1Node, servers: readonly Server[]): Server | undefined {
  const id = parseProviderId(node.spec?.providerID);
  if (id.kind === "cloud") return indexOf(servers).byId.get(id.id);
  return id.kind === "none" ? indexOf(servers).byName.get(node.metadata?.name ?? "") : undefined;
}

interface ServerIndex {
  readonly byId: ReadonlyMap<number, Server>;
  readonly byName: ReadonlyMap<string, Server>;
}

const indexes = new WeakMap<readonly Server[], ServerIndex>();

/** Built once per list, because every Service looks up every node. */
function indexOf(servers: readonly Server[]): ServerIndex {
  const known = indexes.get(servers);
  if (known) return known;
  const index = {
    byId: new Map(servers.map((server) => [server.id, server])),
    // Names are unique in a project; if they were not, the first one would count.
    byName: new Map(servers.toReversed().map((server) => [server.name, server])),
  };
  indexes.set(servers, index);
  return index;
}

/** All servers that a node can be on. */
export interface Inventory {
  readonly servers: readonly Server[];
  readonly robots: RobotInventory;
}

/** The verdict on a node on a cloud or dedicated server. */
export function decideNode(node: V1Node, { servers, robots }: Inventory, options: NodeOptions): NodeVerdict {
  const robot = decideRobotNode(node, robots, options);
  const namesake = findServer(node, servers);
  if (!robot && !namesake && !node.spec?.providerID && robots.kind === "unreadable") {
    const reason = `no cloud server is named "${node.metadata?.name}", and Robot cannot be read: ${robots.reason}`;
    return { kind: "refused", reason, isFinal: false };
  }
  if (!robot) return decideCloudNode(node, servers, options);
  if (!namesake) return robot;
  const reason = `both cloud server ${namesake.id} and a dedicated server are named "${namesake.name}": rename one of them`;
  return { kind: "refused", reason, isFinal: false };
}

/** The verdict on a node that is not on a dedicated server. A refusal names the cause and the remedy. */
export function decideCloudNode(node: V1Node, servers: readonly Server[], options: NodeOptions): NodeVerdict {
  const id = parseProviderId(node.spec?.providerID);
  if (id.kind === "foreign") return { kind: "foreign", providerId: id.text };
  if (id.kind === "malformed")
    return { kind: "refused", reason: `its providerID "${id.text}" is not hcloud://<server id>`, isFinal: true };
  const server = findServer(node, servers);
  if (!server) return { kind: "refused", reason: explainMissing(node, servers), isFinal: false };
  const ipv6 = readExternalIpv6(node, options.addressFamily);
  if (!ipv6.ok) return ipv6.refusal;

  const known = serverAddresses(server, { ...options, externalIpv6: ipv6.address });
  const shaped = applyProvidedIps(known, node.metadata?.annotations?.[PROVIDED_IP]);
  if (!shaped.ok) {
    const reason = `${shaped.reason}: ${adviseOnAddress(server, options, shaped.missing)}`;
    return { kind: "refused", reason, isFinal: false };
  }
  const machine = { providerId: cloudProviderId(server.id), ...serverFacts(server, options) };
  return {
    kind: "ready",
    ...planPatch(node, { ...machine, addresses: shaped.addresses }, options),
    warnings: [...ipv6.warnings, ...warnOfLoss(node, server, shaped.addresses, options)],
  };
}

/**
 * Warns before an InternalIP is removed because HCLOUD_NETWORK is not set, which may be a mistake. Kubelet's guess on a
 * new node that is in no network may go silently.
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
  const isPrivate = server.private_net.some(({ ip }) => ip === lost?.address);
  if (networkId !== undefined || !lost || (isUninitialised(node) && !isPrivate)) return [];
  const message = `InternalIP ${lost.address} is removed because HCLOUD_NETWORK is not set: set it to the cluster's network to keep private addresses`;
  return [{ reason: "InternalIPRemoved", message }];
}
