/** Whether what the cloud lists can be true of this cluster. */
import type { V1Node } from "@kubernetes/client-node";
import { CcmError } from "../errors.ts";
import type { CloudState } from "../hcloud/view.ts";

/** The cloud contradicts what the cluster shows; acting on it could take everything down. */
class ImplausibleCloud extends CcmError {
  readonly code = "implausible-cloud";
  readonly retry = "backoff";
}

/** A cloud without servers under a cluster with nodes is an outage or the wrong project, not a wish to remove all targets. */
export function requirePlausible({ servers }: Pick<CloudState, "servers">, nodes: readonly V1Node[]): void {
  const ours = nodes.filter(({ spec }) => spec?.providerID?.startsWith("hcloud://"));
  if (servers.length === 0 && ours.length > 0) {
    throw new ImplausibleCloud(
      `the API lists no servers, but ${ours.length} nodes have one: check that HCLOUD_TOKEN belongs to this cluster's project`,
    );
  }
}
