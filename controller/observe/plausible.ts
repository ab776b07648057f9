/** Whether what the cloud lists can be true of this cluster. */
import type { V1Node } from "@kubernetes/client-node";
import { CcmError } from "../diagnostics/errors.ts";
import { GUARD_LIMITS } from "../guard/guard.ts";
import type { CloudState } from "../hcloud/view.ts";
import { onNode, type Write } from "../publish/writes.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { findServer } from "../render/node/metadata.ts";
import { parseProviderId } from "../render/node/provider-id.ts";

/** The cloud contradicts what the cluster shows; acting on it could take everything down. */
export class ImplausibleCloud extends CcmError {
  readonly code = "implausible-cloud";
  readonly retry = "backoff";
  /** Nodes that are Ready on servers that the cloud does not list. */
  readonly nodes: readonly V1Node[];

  constructor(message: string, nodes: readonly V1Node[]) {
    super(message);
    this.nodes = nodes;
  }
}

/** One server may vanish under a node that has not noticed yet; several at once, and a large part of all, are a broken list. */
const LEAST_MISSING = 2;

/**
 * A cloud without servers under a cluster with nodes is an outage or the wrong project, and one that lacks the servers of many
 * nodes that are Ready is a partial list: neither is an intent to remove targets and routes.
 */
export function requirePlausible({ servers }: Pick<CloudState, "servers">, nodes: readonly V1Node[]): void {
  const ours = nodes.filter(({ spec }) => parseProviderId(spec?.providerID).kind === "cloud");
  if (servers.length === 0 && ours.length > 0) {
    const remedy = "check that HCLOUD_TOKEN belongs to this cluster's project";
    throw new ImplausibleCloud(`the API lists no servers, but ${ours.length} nodes have one: ${remedy}`, []);
  }
  const ready = ours.filter(isReady);
  const missing = ready.filter((node) => !findServer(node, servers));
  if (missing.length < LEAST_MISSING || missing.length <= ready.length * GUARD_LIMITS.share) return;
  throw new ImplausibleCloud(
    `the API does not list the servers of ${missing.length} of ${ready.length} nodes that are Ready: nothing is changed until it does, or they are not Ready any more`,
    missing,
  );
}

/** What a node hears whose server the cloud does not list although the node is Ready. */
export function contradiction(node: V1Node): Write {
  const message = `Node ${node.metadata?.name} is Ready, but the Hetzner API does not list its server: balancers and routes stay as they are`;
  return onNode(node, { type: "Warning", reason: "ServerNotListed", message });
}
