/** Which changes of objects are worth a turn. Heartbeats and our own writes are not. */
import { isDeepStrictEqual } from "node:util";
import type { V1Node, V1Secret, V1Service } from "@kubernetes/client-node";
import { hasFinalizer } from "../formats/finalizer.ts";
import { asksTheSame } from "../guard/pace.ts";
import type { Change } from "../kube/informer.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { parseProviderId } from "../render/node/provider-id.ts";
import { OPTIONS, PREFIX } from "../render/service/options/annotations.ts";
import { intentOf, type ServedClasses } from "../render/service/ours.ts";

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

/**
 * Whether a Service that is ours, before or after, asks for something else. The loss of our finalizer counts because another
 * client has removed it.
 */
export function concernsService({ old, now }: Change<V1Service>, served?: ServedClasses): boolean {
  const isOurs = (service?: V1Service) => service !== undefined && intentOf(service, served) !== "none";
  if (!isOurs(old) && !isOurs(now)) return false;
  if (!old || !now) return true;
  const isDeleted = ({ metadata }: V1Service) => metadata?.deletionTimestamp !== undefined;
  return !asksTheSame(old, now) || isDeleted(old) !== isDeleted(now) || (hasFinalizer(old) && !hasFinalizer(now));
}

/** Whether the content of a Secret changed that one of these Services, or a port of theirs, uses. */
export function concernsSecret({ old, now }: Change<V1Secret>, services: Iterable<V1Service>): boolean {
  if (old && now && isDeepStrictEqual(old.data, now.data)) return false;
  const { namespace, name = "" } = (now ?? old)?.metadata ?? {};
  const uses = ([key, value]: readonly [string, string]) =>
    key.startsWith(PREFIX) && key.endsWith(OPTIONS.tlsSecrets.annotation) && value.includes(name);
  return [...services].some(
    ({ metadata }) => metadata?.namespace === namespace && Object.entries(metadata?.annotations ?? {}).some(uses),
  );
}
