/** Which changes of objects are worth a turn. Heartbeats and our own writes are not. */
import { isDeepStrictEqual } from "node:util";
import type { V1Node, V1Secret, V1Service } from "@kubernetes/client-node";
import type { Change } from "../kube/informer.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { parseProviderId } from "../render/node/provider-id.ts";

/** Whether load balancers or routes may have to change. */
export function concernsCluster({ old, now }: Change<V1Node>): boolean {
  if (!old || !now) return true;
  const relevant = ({ metadata, spec, status }: V1Node) => [
    metadata?.uid,
    metadata?.labels,
    metadata?.deletionTimestamp,
    spec?.providerID,
    spec?.podCIDRs,
    spec?.taints,
    // Dedicated servers are targets by their Node's address.
    parseProviderId(spec?.providerID).kind === "robot" && status?.addresses,
  ];
  return !isDeepStrictEqual(relevant(old), relevant(now));
}

/** Whether the Node may have to be patched: also when its addresses or kubelet's annotations change. */
export function concernsNode(change: Change<V1Node>): boolean {
  const { old, now } = change;
  if (!now) return false;
  const relevant = ({ metadata, status }: V1Node) => [metadata?.annotations, status?.addresses];
  return !old || concernsCluster(change) || !isDeepStrictEqual(relevant(old), relevant(now));
}

/** Whether the Node's readiness or taints changed. */
export function concernsLifecycle({ old, now }: Change<V1Node>): boolean {
  if (!now) return false;
  const relevant = (node: V1Node) => [node.metadata?.uid, isReady(node), node.spec?.taints];
  return !old || !isDeepStrictEqual(relevant(old), relevant(now));
}

/** Whether the Service asks for something else. Finalizers count because another client may have removed ours. */
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

/** Whether the Secret's content changed. */
export function concernsSecret({ old, now }: Change<V1Secret>): boolean {
  return !old || !now || !isDeepStrictEqual(old.data, now.data);
}
