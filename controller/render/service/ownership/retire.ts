/** What becomes of a balancer whose Service goes. Nothing here can fail: deletion never depends on what annotations say. */
import type { V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../../stacks/units/spec.ts";
import { foreignMark, isMark, othersLabels, RELEASED_MARK } from "../../../formats/marks.ts";
import { OPTIONS, PREFIX } from "../options/annotations.ts";
import { serviceRef } from "./ours.ts";

/** A balancer that outlives its Service: what of it is left to do, and why. */
export interface Keeping {
  readonly spec: LoadBalancerSpec;
  /** As far as the spec speaks of it. */
  readonly existing: LoadBalancerState;
  readonly reason: string;
}

/**
 * | balancer | what becomes of it |
 * | --- | --- |
 * | with foreign listeners or targets | loses what is the Service's, and stays without owner |
 * | `on-delete: keep`, or something there that cannot be read | stays as it is, without owner |
 * | any other | is deleted: nothing is returned |
 */
export function keepOnRetire(service: V1Service, balancer: LoadBalancerState): Keeping | undefined {
  const text = service.metadata?.annotations?.[PREFIX + OPTIONS.onDelete.annotation];
  const parsed = text === undefined ? undefined : OPTIONS.onDelete.parse(text);
  const isShared = Object.keys(balancer.labels).some((key) => key.startsWith(foreignMark("")));
  if (isShared) return keeping(service, balancer, "it has listeners or targets that are not this Service's");
  // The only thing to say there besides the default is that it should stay, and a deleted address does not come back.
  if (parsed && "allowed" in parsed) return leaveBehind(service, balancer, "its on-delete annotation cannot be read");
  return parsed?.value === "keep" ? leaveBehind(service, balancer, "its on-delete annotation says so") : undefined;
}

/** Leaves a balancer as it is, but for the labels that say whose it is. */
export function leaveBehind(service: V1Service, balancer: LoadBalancerState, reason: string): Keeping {
  const { network: _, rdns: __, ...rest } = balancer;
  return keeping(service, { ...rest, listeners: [], targets: [] }, reason);
}

/** Without owner, but with one label: the provider does not take the last one away (hcloud-api.md, pitfall 17). */
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
