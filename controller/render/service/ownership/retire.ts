/** What happens to the load balancer of a deleted Service. Never fails: no annotation may block deletion. */
import type { V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../../stacks/units/spec.ts";
import { foreignMark, isMark, othersLabels, RELEASED_MARK } from "../../../formats/marks.ts";
import { OPTIONS, PREFIX } from "../options/annotations.ts";
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
 * | with foreign listeners or targets | loses the Service's parts, is kept without an owner |
 * | `on-delete: keep`, or an invalid value | is kept unchanged, without an owner |
 * | any other | is deleted; returns undefined |
 */
export function keepOnRetire(service: V1Service, balancer: LoadBalancerState): Keeping | undefined {
  const text = service.metadata?.annotations?.[PREFIX + OPTIONS.onDelete.annotation];
  const parsed = text === undefined ? undefined : OPTIONS.onDelete.parse(text);
  const isShared = Object.keys(balancer.labels).some((key) => key.startsWith(foreignMark("")));
  if (isShared) return keeping(service, balancer, "it has listeners or targets that do not belong to this Service");
  // The only value besides the default is `keep`, and the addresses of a deleted load balancer are lost.
  if (parsed && "allowed" in parsed) return leaveBehind(service, balancer, "the annotation on-delete is invalid");
  return parsed?.value === "keep" ? leaveBehind(service, balancer, "the annotation on-delete is keep") : undefined;
}

/** Keeps a load balancer unchanged, except for the labels that name its owner. */
export function leaveBehind(service: V1Service, balancer: LoadBalancerState, reason: string): Keeping {
  const { network: _, rdns: __, ...rest } = balancer;
  return keeping(service, { ...rest, listeners: [], targets: [] }, reason);
}

/** Removes the owner but leaves one label, because the API cannot remove the last one (hcloud-api.md, pitfall 17). */
function keeping(service: V1Service, balancer: LoadBalancerState, reason: string): Keeping {
  const ref = serviceRef(service);
  const { name, type, algorithm, deleteProtection, location } = balancer;
  const others = Object.entries(othersLabels(balancer.labels, SERVICE_UID_LABEL)).filter(([key]) => !isMark(key));
  const labels = { ...Object.fromEntries(others), [RELEASED_MARK]: ref.uid };
  const fields = { name, type, algorithm, deleteProtection, labels, place: { location } };
  return {
    spec: { kind: "load-balancer", service: ref, ...fields, listeners: [], targets: [] },
    existing: balancer,
    reason,
  };
}
