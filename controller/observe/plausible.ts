/** Whether the cloud's lists fit the cluster's Nodes. */
import type { V1Node } from "@kubernetes/client-node";
import { CcmError } from "../diagnostics/errors.ts";
import { GUARD_LIMITS } from "../guard/guard.ts";
import type { CloudState } from "../hcloud/view.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { findServer } from "../render/node/metadata.ts";
import { parseProviderId } from "../render/node/provider-id.ts";

/** The cloud's lists contradict the cluster. Acting on them could remove every target and route. */
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

/** A single server may just have been deleted. Several at once, and a large share of all, mean an incomplete list. */
const LEAST_MISSING = 2;

/**
 * Throws ImplausibleCloud when no server is listed although Nodes have one (an outage, or the wrong project), or when the
 * list lacks the servers of many Ready Nodes. Neither is a reason to remove targets and routes.
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
