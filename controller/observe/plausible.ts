/** Whether the cloud's lists can be true of this cluster. */
import type { V1Node } from "@kubernetes/client-node";
import { CcmError } from "../diagnostics/errors.ts";
import { GUARD_LIMITS } from "../guard/guard.ts";
import type { CloudState } from "../hcloud/view.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { findServer } from "../render/node/metadata.ts";
import { parseProviderId } from "../render/node/provider-id.ts";

/** The cloud contradicts the cluster; acting on such lists could take everything down. */
export class ImplausibleCloud extends CcmError {
  readonly code = "implausible-cloud";
  readonly retry = "backoff";
  /** Nodes that are Ready although the cloud does not list their servers. */
  readonly nodes: readonly V1Node[];

  constructor(message: string, nodes: readonly V1Node[]) {
    super(message);
    this.nodes = nodes;
  }
}

/** A single server may have vanished before its Node noticed. Several at once, and a large share of all, mean a broken list. */
const LEAST_MISSING = 2;

/**
 * No servers at all under a cluster with Nodes means an outage or the wrong project; a list without the servers of many
 * Ready Nodes is incomplete. Neither is a reason to remove targets and routes.
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
    `the API does not list the servers of ${missing.length} of ${ready.length} Ready nodes: no changes until they are listed or no longer Ready`,
    missing,
  );
}
