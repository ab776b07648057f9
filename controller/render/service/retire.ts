/** What happens to the load balancer of a deleted Service. Never fails: no annotation may block deletion. */
import type { V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../stacks/units/spec.ts";
import { ADOPTED_MARK, foreignMark, othersLabels, releasedMarks } from "../../formats/marks.ts";
import { OPTIONS, PREFIX } from "./options/annotations.ts";
import { serviceRef } from "./ours.ts";

/** A load balancer that outlives its Service: the remaining change, and why it is kept. */
export interface Keeping {
  readonly spec: LoadBalancerSpec;
  /** The existing load balancer, limited to what the spec covers. */
  readonly existing: LoadBalancerState;
  readonly reason: string;
}

/**
 * | load balancer | what happens |
 * | --- | --- |
 * | with foreign listeners or targets | loses the Service's parts, then its owner, and is kept |
 * | `on-delete: keep`, or an invalid value | is kept unchanged, without an owner |
 * | adopted | loses the Service's parts, then its owner, and is kept |
 * | any other | is deleted; returns undefined |
 */
export function keepOnRetire(service: V1Service, balancer: LoadBalancerState): Keeping | undefined {
  const text = service.metadata?.annotations?.[PREFIX + OPTIONS.onDelete.annotation];
  const parsed = text === undefined ? undefined : OPTIONS.onDelete.parse(text);
  const isShared = Object.keys(balancer.labels).some((key) => key.startsWith(foreignMark("")));
  if (isShared) return withdraw(service, balancer, "it has listeners or targets that do not belong to this Service");
  // The only value besides the default is `keep`, and the addresses of a deleted load balancer are lost.
  if (parsed && "allowed" in parsed) return leaveBehind(service, balancer, "the annotation on-delete is invalid");
  if (parsed?.value === "keep") return leaveBehind(service, balancer, "the annotation on-delete is keep");
  const isAdopted = Object.hasOwn(balancer.labels, ADOPTED_MARK);
  return isAdopted ? withdraw(service, balancer, "it was not created for this Service") : undefined;
}

/** Keeps a load balancer unchanged, except for the labels that name its owner. */
export function leaveBehind(service: V1Service, balancer: LoadBalancerState, reason: string): Keeping {
  const { network: _, rdns: __, ...rest } = balancer;
  return keeping(service, { ...rest, listeners: [], targets: [] }, reason);
}

/**
 * Removes the Service's parts, and the owner in a second run: a run changes labels first, and without the owner label a
 * controller that is killed in between would not find the parts again.
 */
function withdraw(service: V1Service, balancer: LoadBalancerState, reason: string): Keeping {
  const isEmpty = balancer.listeners.length + balancer.targets.length === 0;
  const { spec, ...rest } = keeping(service, balancer, reason);
  return { ...rest, spec: isEmpty ? spec : { ...spec, labels: balancer.labels } };
}

/** Removes the owner but leaves labels, because the API cannot remove the last one (hcloud-api.md, pitfall 17). */
function keeping(service: V1Service, balancer: LoadBalancerState, reason: string): Keeping {
  const ref = serviceRef(service);
  const { name, type, algorithm, deleteProtection, location } = balancer;
  const lasting = Object.entries(balancer.labels).filter(
    ([key]) => key === ADOPTED_MARK || key.startsWith(foreignMark("")),
  );
  const labels = {
    ...othersLabels(balancer.labels, SERVICE_UID_LABEL),
    ...Object.fromEntries(lasting),
    ...releasedMarks(ref),
  };
  const fields = { name, type, algorithm, deleteProtection, labels, place: { location } };
  return {
    spec: { kind: "load-balancer", service: ref, ...fields, listeners: [], targets: [] },
    existing: balancer,
    reason,
  };
}
