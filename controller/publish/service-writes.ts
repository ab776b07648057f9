/** Writes to Services: finalizers, statuses and Events. */
import type { V1Service } from "@kubernetes/client-node";
import type { RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import { type Difference, differences } from "../../stacks/units/difference.ts";
import { isTarget } from "../../stacks/units/names.ts";
import type { LoadBalancerState, UnitId } from "../../stacks/units/spec.ts";
import { hasFinalizer } from "../formats/finalizer.ts";
import type { Drift } from "../guard/drift.ts";
import type { Plan } from "../guard/plan.ts";
import { certificateUnits } from "../render/certificates.ts";
import type { Rendered } from "../render/cluster.ts";
import { type BalanceIntent, balancerIn, type RetireIntent, type ServiceIntent } from "../render/intents.ts";
import { shortened } from "../render/refusals.ts";
import type { Note } from "../render/service/advice.ts";
import { renderIngress, sameIngress } from "../render/service/status.ts";
import { onService, type Write } from "./writes.ts";

type Outcomes = RunReport["outcomes"];

/**
 * Writes before a run: the finalizer of every Service that needs a load balancer, all mistakes, and what is about to
 * change. Before a load balancer is created, the finalizer is set even if the Service seems to have it: the watch may be
 * behind.
 */
export function serviceWritesBefore(rendered: Rendered, due: Plan, drifted: readonly Drift[]): readonly Write[] {
  const planned = new Map(due.map((step) => [step.unit, step.differences]));
  const repaired = new Set(drifted.map(({ unit }) => unit));
  return rendered.services.flatMap((intent): readonly Write[] => {
    const { service, unit } = intent;
    const changes = planned.get(unit);
    if (intent.kind === "refused") return [...mistakeWrites(intent), ...warnings(service, intent.notes ?? [])];
    if (intent.kind === "retire") return changes ? [departure(intent)] : [];
    const isNew = rendered.existing[unit] === undefined;
    return [
      ...claim(service, isNew && changes !== undefined),
      ...mistakeWrites(intent),
      ...(changes && !repaired.has(unit) ? announcements(intent, isNew, changes) : []),
    ];
  });
}

function claim(service: V1Service, isBeingCreated: boolean): readonly Write[] {
  return hasFinalizer(service) && !isBeingCreated ? [] : [{ kind: "add-finalizer", service }];
}

/** All mistakes of a Service in one Event, written again when the Service was changed and is still wrong. */
function mistakeWrites({ service, mistakes }: ServiceIntent & { readonly mistakes: readonly string[] }): Write[] {
  if (mistakes.length === 0) return [];
  const message = `Error syncing load balancer: ${shortened(mistakes).join("; ")}`;
  const occasion = occasions.get(service) ?? JSON.stringify([service.metadata?.annotations, service.spec]);
  occasions.set(service, occasion);
  return [onService(service, "SyncLoadBalancerFailed", message, { occasion })];
}

/** What a Service asks for, as text, by object. */
const occasions = new WeakMap<V1Service, string>();

function departure({ service, keeps }: RetireIntent): Write {
  if (!keeps) return onService(service, "DeletingLoadBalancer", "Deleting load balancer");
  const message = `Keeping load balancer ${keeps.spec.name}, without an owner: ${keeps.reason}`;
  return onService(service, "KeepingLoadBalancer", message);
}

function announcements(intent: BalanceIntent, isNew: boolean, changes: readonly Difference[]): readonly Write[] {
  const { service, spec, settings, adopts } = intent;
  if (adopts !== undefined) {
    const message = `Taking over load balancer ${spec.name} (id ${adopts}), which belongs to no Service of this cluster`;
    return [onService(service, "AdoptingLoadBalancer", message)];
  }
  // Changes of targets get an Event after the run only, as in the framework.
  if (!isNew && changes.every(({ part }) => isTarget(part))) return [];
  // Reported once, when the load balancer is created; HCCM repeats it in every run.
  const untyped = `Using the default load balancer type ${spec.type}. To choose another, set the annotation load-balancer.hetzner.cloud/type, or HCLOUD_LOAD_BALANCERS_TYPE for all Services.`;
  return [
    ...(isNew && !settings.options.type ? [onService(service, "LoadBalancerTypeUnconfigured", untyped)] : []),
    onService(service, "EnsuringLoadBalancer", "Ensuring load balancer"),
  ];
}

/** Units of Services whose finalizer could not be set: without it a load balancer could outlive its Service unnoticed (S8). */
export function unclaimedUnits({ services }: Rendered, failed: readonly Write[]): ReadonlySet<UnitId> {
  const claims = new Set(failed.flatMap((write) => (write.kind === "add-finalizer" ? [write.service] : [])));
  const unclaimed = services.filter(({ service }) => claims.has(service));
  return new Set(unclaimed.flatMap((intent) => [intent.unit, ...certificateUnits(intent)]));
}

/** Writes after a run: Events, statuses and finalizers, according to what the cloud lists. */
export function serviceWritesAfter({ services, existing }: Rendered, outcomes: Outcomes): readonly Write[] {
  return services.flatMap((intent) => {
    const balancer = balancerIn(existing, intent.unit);
    return [...certificateFailures(intent, outcomes), ...writesFor(intent, balancer, outcomes[intent.unit])];
  });
}

function certificateFailures(intent: ServiceIntent, outcomes: Outcomes): readonly Write[] {
  const failures = certificateUnits(intent).flatMap((unit) => {
    const outcome = outcomes[unit];
    return outcome?.status === "failed" ? [outcome.failure.message] : [];
  });
  if (failures.length === 0) return [];
  return [onService(intent.service, "SyncCertificateFailed", `Error syncing certificates: ${failures.join("; ")}`)];
}

function writesFor(intent: ServiceIntent, balancer?: LoadBalancerState, outcome?: UnitOutcome): readonly Write[] {
  if (intent.kind === "refused") return [];
  const failed = outcome?.status === "failed" ? [failure(intent, outcome)] : [];
  // What failed without a load balancer was its creation, which the Service no longer asks for.
  if (intent.kind === "retire") return [...(balancer ? failed : []), ...retireWrites(intent, balancer)];
  if (!balancer || differences(intent.spec, balancer).length > 0) return failed;
  return [...noteWrites(intent), ...ingressWrites(intent, balancer), ...(outcome ? [successOf(intent, outcome)] : [])];
}

function failure(intent: ServiceIntent, outcome: UnitOutcome & { readonly status: "failed" }): Write {
  const { message } = outcome.failure;
  if (intent.kind === "balance" && concernsHostsOnly(outcome)) {
    const text = `Error updating load balancer with new hosts: ${message}`;
    return onService(intent.service, "UpdateLoadBalancerFailed", text);
  }
  const action = intent.kind === "retire" ? "delete" : "ensure";
  const text = `Error syncing load balancer: failed to ${action} load balancer: ${message}`;
  return onService(intent.service, "SyncLoadBalancerFailed", text);
}

function successOf({ service }: BalanceIntent, outcome: UnitOutcome): Write {
  return concernsHostsOnly(outcome)
    ? onService(service, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
    : onService(service, "EnsuredLoadBalancer", "Ensured load balancer");
}

function concernsHostsOnly({ changes }: UnitOutcome): boolean {
  return changes.length > 0 && changes.every(({ part }) => isTarget(part));
}

function retireWrites(intent: RetireIntent, balancer?: LoadBalancerState): readonly Write[] {
  const { service, keeps, isLeftBehind, certificates } = intent;
  if (certificates.stale.length + (certificates.left?.length ?? 0) > 0) return [];
  if (!balancer) {
    const event = isLeftBehind
      ? onService(service, "LoadBalancerKept", "Load balancer kept, without an owner")
      : onService(service, "DeletedLoadBalancer", "Deleted load balancer");
    return [{ kind: "remove-finalizer", service }, event];
  }
  if (keeps || !balancer.deleteProtection) return [];
  const kept = `Load balancer ${balancer.name} is kept: it is protected against deletion. Disable the protection in the Hetzner project to delete it there.`;
  return [{ kind: "remove-finalizer", service }, onService(service, "LoadBalancerKept", kept, { type: "Warning" })];
}

function ingressWrites({ service, settings }: BalanceIntent, balancer: LoadBalancerState): readonly Write[] {
  const ingress = renderIngress(balancer, settings);
  if (!ingress || sameIngress(ingress, service.status?.loadBalancer?.ingress ?? [])) return [];
  return [{ kind: "ingress", service, ingress }];
}

/** One Event per reason, for all ports or Nodes together: a second one with the same reason would count as a change. */
function noteWrites({ service, spec, notes, leftOut }: BalanceIntent): readonly Write[] {
  const left = leftOut.map(({ node, reason }) => `Node ${node} is not a target: ${reason}`);
  const noHosts = "There are no available nodes for LoadBalancer";
  return [
    ...warnings(service, notes),
    ...(left.length > 0 ? [onService(service, "TargetLeftOut", left.join("; "))] : []),
    ...(spec.targets.length === 0 ? [onService(service, "UnAvailableLoadBalancer", noHosts)] : []),
  ];
}

function warnings(service: V1Service, notes: readonly Note[]): readonly Write[] {
  return notes.map(({ reason, message }) => onService(service, reason, message));
}
