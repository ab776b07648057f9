/** What is to be written back to Kubernetes after a turn, as data. */
import type { V1LoadBalancerIngress, V1Node, V1Service } from "@kubernetes/client-node";
import { differences } from "../../stacks/difference.ts";
import type { RunReport } from "../../stacks/run.ts";
import type { LoadBalancerState } from "../../stacks/spec.ts";
import { FINALIZER } from "../service/ours.ts";
import type { Settings } from "../service/settings.ts";
import { renderIngress, sameIngress } from "../service/status.ts";
import type { Desired, ServiceWish } from "./desired.ts";
import { type Drift, describeDrift } from "./drift.ts";
import type { Plan } from "./plan.ts";
import { routeWrites } from "./route-writes.ts";

export type Write =
  | { readonly kind: "claim"; readonly service: V1Service }
  | { readonly kind: "ingress"; readonly service: V1Service; readonly ingress: readonly V1LoadBalancerIngress[] }
  | { readonly kind: "release"; readonly service: V1Service }
  | { readonly kind: "network-condition"; readonly node: V1Node; readonly isAvailable: boolean }
  | { readonly kind: "event"; readonly event: Notice };

/** Something a user should read on an object. */
export interface Notice {
  readonly about:
    | { readonly kind: "Service"; readonly object: V1Service }
    | { readonly kind: "Node"; readonly object: V1Node };
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

type Outcomes = RunReport["outcomes"];
type BalanceWish = ServiceWish & { readonly kind: "balance" };

/**
 * Before the cloud is touched: the finalizer of every Service that wants a balancer, what is wrong with those refused, and
 * what is about to happen to whom.
 */
export function writesBefore(desired: Desired, due: Plan, drifted: readonly Drift[]): readonly Write[] {
  const isDue = new Set(due.map(({ unit }) => unit));
  const drifts = new Map(drifted.map(({ unit, differences: found }) => [unit, found]));
  return desired.services.flatMap((wish): Write[] => {
    const { service, unit } = wish;
    if (wish.kind === "refused") return mistakeWrites(wish);
    if (wish.kind === "release") {
      return isDue.has(unit) ? [tell(service, "DeletingLoadBalancer", "Deleting load balancer")] : [];
    }
    const isClaimed = service.metadata?.finalizers?.includes(FINALIZER) ?? false;
    const first: Write[] = [...(isClaimed ? [] : [{ kind: "claim", service } as const]), ...mistakeWrites(wish)];
    return isDue.has(unit) ? [...first, announcement(wish, drifts.get(unit))] : first;
  });
}

/** Everything that is wrong with a Service, in one Event. */
function mistakeWrites({ service, mistakes }: ServiceWish & { readonly mistakes: readonly string[] }): Write[] {
  if (mistakes.length === 0) return [];
  return [warn(service, "SyncLoadBalancerFailed", `Error syncing load balancer: ${mistakes.join("; ")}`)];
}

function announcement({ service, spec, adopts }: BalanceWish, drift: Drift["differences"] | undefined): Write {
  if (drift) {
    const message = `Load balancer was changed outside of the cluster and is being repaired: ${describeDrift(drift)}`;
    return warn(service, "LoadBalancerDrifted", message);
  }
  if (adopts !== undefined) {
    return tell(
      service,
      "AdoptingLoadBalancer",
      `Taking over load balancer ${spec.name} (id ${adopts}), which had no owner`,
    );
  }
  return tell(service, "EnsuringLoadBalancer", "Ensuring load balancer");
}

/** After it: status, finalizers and conditions, each on the proof of what the cloud now lists. */
export function writesAfter(desired: Desired, outcomes: Outcomes, nodes: readonly V1Node[]): readonly Write[] {
  return [
    ...desired.services.flatMap((wish) => serviceWrites(wish, desired, outcomes)),
    ...(desired.routes ? routeWrites(desired.routes, desired.present, { outcomes, nodes }) : []),
  ];
}

function serviceWrites(wish: ServiceWish, { present }: Desired, outcomes: Outcomes): readonly Write[] {
  const { service, unit } = wish;
  const state = present[unit];
  const balancer = state?.kind === "load-balancer" ? state : undefined;
  const outcome = outcomes[unit];
  const failed =
    outcome?.status === "failed"
      ? [warn(service, "SyncLoadBalancerFailed", failureText(wish, outcome.failure.message))]
      : [];
  if (wish.kind === "refused") return [];
  if (wish.kind === "release") return [...failed, ...releaseWrites(service, balancer)];
  if (!balancer || differences(wish.spec, balancer).length > 0) return failed;
  const ensured = outcome ? [tell(service, "EnsuredLoadBalancer", "Ensured load balancer")] : [];
  return [...noteWrites(wish), ...ingressWrites(service, balancer, wish.settings), ...ensured];
}

function failureText(wish: ServiceWish, message: string): string {
  const action = wish.kind === "release" ? "delete" : "ensure";
  return `Error syncing load balancer: failed to ${action} load balancer: ${message}`;
}

function releaseWrites(service: V1Service, balancer: LoadBalancerState | undefined): readonly Write[] {
  if (!balancer) return [{ kind: "release", service }, tell(service, "DeletedLoadBalancer", "Deleted load balancer")];
  if (!balancer.deleteProtection) return [];
  const kept = `load balancer ${balancer.name} is protected against deletion and stays`;
  return [{ kind: "release", service }, warn(service, "LoadBalancerKept", kept)];
}

function ingressWrites(service: V1Service, balancer: LoadBalancerState, settings: Settings): readonly Write[] {
  const ingress = renderIngress(balancer, settings);
  if (!ingress || sameIngress(ingress, service.status?.loadBalancer?.ingress ?? [])) return [];
  return [{ kind: "ingress", service, ingress }];
}

/** One Event per reason, however many ports or nodes it is about: each would push the others out of what was last said. */
function noteWrites({ service, notes, leftOut }: BalanceWish): readonly Write[] {
  const left = leftOut.map(({ node, reason }) => `node ${node} is no target: ${reason}`);
  return [
    ...notes.map(({ reason, message }) => warn(service, reason, message)),
    ...(left.length > 0 ? [warn(service, "TargetLeftOut", left.join("; "))] : []),
  ];
}

function tell(service: V1Service, reason: string, message: string): Write {
  return { kind: "event", event: { about: { kind: "Service", object: service }, type: "Normal", reason, message } };
}

function warn(service: V1Service, reason: string, message: string): Write {
  return { kind: "event", event: { about: { kind: "Service", object: service }, type: "Warning", reason, message } };
}
