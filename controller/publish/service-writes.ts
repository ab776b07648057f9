/** What is to be written about Services: finalizers, statuses, and what their users should read. */
import type { V1Service } from "@kubernetes/client-node";
import type { RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import { type Difference, differences } from "../../stacks/units/difference.ts";
import type { LoadBalancerState } from "../../stacks/units/spec.ts";
import { type Drift, describeDrift } from "../guard/drift.ts";
import type { Plan } from "../guard/plan.ts";
import { certificateUnits } from "../render/certificates.ts";
import type { Desired } from "../render/cluster.ts";
import type { ServiceWish } from "../render/intents.ts";
import type { Note } from "../render/service/checks/notes.ts";
import type { Settings } from "../render/service/options/settings.ts";
import { FINALIZER } from "../render/service/ownership/ours.ts";
import { renderIngress, sameIngress } from "../render/service/status.ts";
import { onService, type Write } from "./writes.ts";

type Outcomes = RunReport["outcomes"];
type BalanceWish = ServiceWish & { readonly kind: "balance" };
type ReleaseWish = ServiceWish & { readonly kind: "release" };

/**
 * Before the cloud is touched: the finalizer of every Service that wants a balancer, what is wrong with those refused, and
 * what is about to happen to whom.
 */
export function serviceWritesBefore(desired: Desired, due: Plan, drifted: readonly Drift[]): readonly Write[] {
  const planned = new Map(due.map((step) => [step.unit, step.differences]));
  const drifts = new Map(drifted.map(({ unit, differences: found }) => [unit, found]));
  return desired.services.flatMap((wish): readonly Write[] => {
    const { service, unit } = wish;
    const changes = planned.get(unit);
    if (wish.kind === "refused") return [...mistakeWrites(wish), ...warnings(service, wish.notes ?? [])];
    if (wish.kind === "release") return changes ? [goodbye(wish)] : [];
    const isClaimed = service.metadata?.finalizers?.includes(FINALIZER) ?? false;
    const isNew = desired.present[unit] === undefined;
    return [
      ...(isClaimed ? [] : [{ kind: "claim", service } as const]),
      ...mistakeWrites(wish),
      ...(changes ? announcements(wish, isNew, { changes, drift: drifts.get(unit) }) : []),
    ];
  });
}

/** Everything that is wrong with a Service, in one Event: once, and again when the Service is changed and still wrong. */
function mistakeWrites({ service, mistakes }: ServiceWish & { readonly mistakes: readonly string[] }): Write[] {
  if (mistakes.length === 0) return [];
  const message = `Error syncing load balancer: ${mistakes.join("; ")}`;
  const occasion = JSON.stringify([service.metadata?.annotations, service.spec]);
  return [onService(service, { type: "Warning", reason: "SyncLoadBalancerFailed", message, occasion })];
}

function goodbye({ service, keeps }: ReleaseWish): Write {
  if (!keeps) return tell(service, "DeletingLoadBalancer", "Deleting load balancer");
  return tell(
    service,
    "KeepingLoadBalancer",
    `Leaving load balancer ${keeps.spec.name} without owner: ${keeps.reason}`,
  );
}

interface Occasion {
  readonly changes: readonly Difference[];
  readonly drift: Drift["differences"] | undefined;
}

function announcements(wish: BalanceWish, isNew: boolean, { changes, drift }: Occasion): readonly Write[] {
  const { service, spec, settings, adopts } = wish;
  if (drift) {
    const message = `Load balancer was changed outside of the cluster and is being repaired: ${describeDrift(drift)}`;
    return [warn(service, "LoadBalancerDrifted", message)];
  }
  if (adopts !== undefined) {
    const message = `Taking over load balancer ${spec.name} (id ${adopts}), which had no owner`;
    return [tell(service, "AdoptingLoadBalancer", message)];
  }
  // New hosts are told about when they are there, as upstream does.
  if (!isNew && changes.every(({ field }) => field.startsWith("target "))) return [];
  // Reported once, when the load balancer is created; HCCM repeats it in every run.
  const untyped = `no type is set, so it is ${spec.type}: set annotation load-balancer.hetzner.cloud/type, or HCLOUD_LOAD_BALANCERS_TYPE for all Services`;
  return [
    ...(isNew && !settings.options.type ? [warn(service, "LoadBalancerTypeUnconfigured", untyped)] : []),
    tell(service, "EnsuringLoadBalancer", "Ensuring load balancer"),
  ];
}

/** What a Service is told after a run, its status and its finalizer, on the proof of what the cloud now lists. */
export function serviceWritesAfter({ services, present }: Desired, outcomes: Outcomes): readonly Write[] {
  return services.flatMap((wish) => {
    const state = present[wish.unit];
    const balancer = state?.kind === "load-balancer" ? state : undefined;
    return [...certificateFailures(wish, outcomes), ...writesFor(wish, balancer, outcomes[wish.unit])];
  });
}

function certificateFailures(wish: ServiceWish, outcomes: Outcomes): readonly Write[] {
  const failures = certificateUnits(wish).flatMap((unit) => {
    const outcome = outcomes[unit];
    return outcome?.status === "failed" ? [outcome.failure.message] : [];
  });
  if (failures.length === 0) return [];
  return [warn(wish.service, "SyncCertificateFailed", `Error syncing certificates: ${failures.join("; ")}`)];
}

function writesFor(
  wish: ServiceWish,
  balancer: LoadBalancerState | undefined,
  outcome: UnitOutcome | undefined,
): readonly Write[] {
  const { service } = wish;
  if (wish.kind === "refused") return [];
  const failed = outcome?.status === "failed" ? [failure(wish, outcome)] : [];
  if (wish.kind === "release") return [...failed, ...releaseWrites(wish, balancer, outcome)];
  if (!balancer || differences(wish.spec, balancer).length > 0) return failed;
  return [
    ...noteWrites(wish),
    ...ingressWrites(service, balancer, wish.settings),
    ...(outcome ? [successOf(wish, outcome)] : []),
  ];
}

function failure(wish: ServiceWish, outcome: UnitOutcome & { readonly status: "failed" }): Write {
  const { message } = outcome.failure;
  if (wish.kind === "balance" && concernsHostsOnly(outcome)) {
    return warn(wish.service, "UpdateLoadBalancerFailed", `Error updating load balancer with new hosts: ${message}`);
  }
  const action = wish.kind === "release" ? "delete" : "ensure";
  const text = `Error syncing load balancer: failed to ${action} load balancer: ${message}`;
  return warn(wish.service, "SyncLoadBalancerFailed", text);
}

function successOf({ service }: BalanceWish, outcome: UnitOutcome): Write {
  return concernsHostsOnly(outcome)
    ? tell(service, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
    : tell(service, "EnsuredLoadBalancer", "Ensured load balancer");
}

function concernsHostsOnly({ changes }: UnitOutcome): boolean {
  return changes.length > 0 && changes.every(({ part }) => /^(server|ip)-/.test(part));
}

function releaseWrites(
  { service, keeps, certificates }: ReleaseWish,
  balancer: LoadBalancerState | undefined,
  outcome: UnitOutcome | undefined,
): readonly Write[] {
  if (certificates.stale.length > 0) return [];
  if (!balancer) {
    const isKept = outcome?.changes.some(({ part, operation }) => part === "balancer" && operation === "update");
    const said = isKept
      ? tell(service, "LoadBalancerKept", "Load balancer stays, without owner")
      : tell(service, "DeletedLoadBalancer", "Deleted load balancer");
    return [{ kind: "release", service }, said];
  }
  if (keeps || !balancer.deleteProtection) return [];
  const kept = `load balancer ${balancer.name} is protected against deletion and stays`;
  return [{ kind: "release", service }, warn(service, "LoadBalancerKept", kept)];
}

function ingressWrites(service: V1Service, balancer: LoadBalancerState, settings: Settings): readonly Write[] {
  const ingress = renderIngress(balancer, settings);
  if (!ingress || sameIngress(ingress, service.status?.loadBalancer?.ingress ?? [])) return [];
  return [{ kind: "ingress", service, ingress }];
}

/** One Event per reason, however many ports or nodes it is about: each would push the others out of what was last said. */
function noteWrites({ service, spec, notes, leftOut }: BalanceWish): readonly Write[] {
  const left = leftOut.map(({ node, reason }) => `node ${node} is no target: ${reason}`);
  const hasNoHosts = spec.targets.length === 0;
  return [
    ...warnings(service, notes),
    ...(left.length > 0 ? [warn(service, "TargetLeftOut", left.join("; "))] : []),
    ...(hasNoHosts ? [warn(service, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")] : []),
  ];
}

function warnings(service: V1Service, notes: readonly Note[]): readonly Write[] {
  return notes.map(({ reason, message }) => warn(service, reason, message));
}

function tell(service: V1Service, reason: string, message: string): Write {
  return onService(service, { type: "Normal", reason, message });
}

function warn(service: V1Service, reason: string, message: string): Write {
  return onService(service, { type: "Warning", reason, message });
}
