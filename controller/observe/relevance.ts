/** Which changes of objects make a turn worth its API calls. Heartbeats and our own writes do not. */
import { isDeepStrictEqual } from "node:util";
import type { V1Node, V1Secret, V1Service } from "@kubernetes/client-node";
import type { Change } from "../kube/informer.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { parseProviderId } from "../render/node/provider-id.ts";

/** True when balancers or routes may have to follow. */
export function concernsCluster({ old, now }: Change<V1Node>): boolean {
  if (!old || !now) return true;
  const relevant = ({ metadata, spec, status }: V1Node) => [
    metadata?.uid,
    metadata?.labels,
    metadata?.deletionTimestamp,
    spec?.providerID,
    spec?.podCIDRs,
    spec?.taints,
    // Dedicated servers are targets by the address that their node has.
    parseProviderId(spec?.providerID).kind === "robot" && status?.addresses,
  ];
  return !isDeepStrictEqual(relevant(old), relevant(now));
}

/** True when the node itself may have to be patched: what the cluster cares for, its addresses and kubelet's annotations. */
export function concernsNode(change: Change<V1Node>): boolean {
  const { old, now } = change;
  if (!now) return false;
  const relevant = ({ metadata, status }: V1Node) => [metadata?.annotations, status?.addresses];
  return !old || concernsCluster(change) || !isDeepStrictEqual(relevant(old), relevant(now));
}

/** True when a node may have become suspect, or come back: its readiness or its taints are others. */
export function concernsLifecycle({ old, now }: Change<V1Node>): boolean {
  if (!now) return false;
  const relevant = (node: V1Node) => [node.metadata?.uid, isReady(node), node.spec?.taints];
  return !old || !isDeepStrictEqual(relevant(old), relevant(now));
}

/** True when a Service wants something else than before. A finalizer is looked at because others may take ours away. */
export function concernsService({ old, now }: Change<V1Service>): boolean {
  if (!old || !now) return true;
  const relevant = ({ metadata, spec }: V1Service) => [
    metadata?.uid,
    metadata?.annotations,
    metadata?.deletionTimestamp,
    metadata?.finalizers,
    spec,
  ];
  return !isDeepStrictEqual(relevant(old), relevant(now));
}

/** True when a Secret holds something else than before. */
export function concernsSecret({ old, now }: Change<V1Secret>): boolean {
  return !old || !now || !isDeepStrictEqual(old.data, now.data);
}
