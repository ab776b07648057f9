/** What is to be written about Services: finalizers, statuses, and what their users should read. */
import type { V1Service } from "@kubernetes/client-node";
import type { RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import { type Difference, differences } from "../../stacks/units/difference.ts";
import type { LoadBalancerState } from "../../stacks/units/spec.ts";
import { type Drift, describeDrift } from "../guard/drift.ts";
import type { Plan } from "../guard/plan.ts";
import { certificateUnits } from "../render/certificates.ts";
import type { Rendered } from "../render/cluster.ts";
import type { ServiceIntent } from "../render/intents.ts";
import type { Note } from "../render/service/checks/notes.ts";
import type { Settings } from "../render/service/options/settings.ts";
import { FINALIZER } from "../render/service/ownership/ours.ts";
import { renderIngress, sameIngress } from "../render/service/status.ts";
import { onService, type Write } from "./writes.ts";

type Outcomes = RunReport["outcomes"];
type BalanceIntent = ServiceIntent & { readonly kind: "balance" };
type RetireIntent = ServiceIntent & { readonly kind: "retire" };

/**
 * Before the cloud is touched: the finalizer of every Service that wants a balancer, what is wrong with those refused, and
 * what is about to happen to whom.
 */
export function serviceWritesBefore(rendered: Rendered, due: Plan, drifted: readonly Drift[]): readonly Write[] {
  const planned = new Map(due.map((step) => [step.unit, step.differences]));
  const drifts = new Map(drifted.map(({ unit, differences: found }) => [unit, found]));
  return rendered.services.flatMap((intent): readonly Write[] => {
    const { service, unit } = intent;
    const changes = planned.get(unit);
    if (intent.kind === "refused") return [...mistakeWrites(intent), ...warnings(service, intent.notes ?? [])];
    if (intent.kind === "retire") return changes ? [goodbye(intent)] : [];
    const isClaimed = service.metadata?.finalizers?.includes(FINALIZER) ?? false;
    const isNew = rendered.existing[unit] === undefined;
    return [
      ...(isClaimed ? [] : [{ kind: "add-finalizer", service } as const]),
      ...mistakeWrites(intent),
      ...(changes ? announcements(intent, isNew, { changes, drift: drifts.get(unit) }) : []),
    ];
  });
}

/** Everything that is wrong with a Service, in one Event: once, and again when the Service is changed and still wrong. */
function mistakeWrites({ service, mistakes }: ServiceIntent & { readonly mistakes: readonly string[] }): Write[] {
  if (mistakes.length === 0) return [];
  const message = `Error syncing load balancer: ${mistakes.join("; ")}`;
  const occasion = JSON.stringify([service.metadata?.annotations, service.spec]);
  return [onService(service, { type: "Warning", reason: "SyncLoadBalancerFailed", message, occasion })];
}

function goodbye({ service, keeps }: RetireIntent): Write {
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

function announcements(intent: BalanceIntent, isNew: boolean, { changes, drift }: Occasion): readonly Write[] {
  const { service, spec, settings, adopts } = intent;
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
export function serviceWritesAfter({ services, existing }: Rendered, outcomes: Outcomes): readonly Write[] {
  return services.flatMap((intent) => {
    const state = existing[intent.unit];
    const balancer = state?.kind === "load-balancer" ? state : undefined;
    return [...certificateFailures(intent, outcomes), ...writesFor(intent, balancer, outcomes[intent.unit])];
  });
}

function certificateFailures(intent: ServiceIntent, outcomes: Outcomes): readonly Write[] {
  const failures = certificateUnits(intent).flatMap((unit) => {
    const outcome = outcomes[unit];
    return outcome?.status === "failed" ? [outcome.failure.message] : [];
  });
  if (failures.length === 0) return [];
  return [warn(intent.service, "SyncCertificateFailed", `Error syncing certificates: ${failures.join("; ")}`)];
}

function writesFor(
  intent: ServiceIntent,
  balancer: LoadBalancerState | undefined,
  outcome: UnitOutcome | undefined,
): readonly Write[] {
  const { service } = intent;
  if (intent.kind === "refused") return [];
  const failed = outcome?.status === "failed" ? [failure(intent, outcome)] : [];
  if (intent.kind === "retire") return [...failed, ...retireWrites(intent, balancer, outcome)];
  if (!balancer || differences(intent.spec, balancer).length > 0) return failed;
  return [
    ...noteWrites(intent),
    ...ingressWrites(service, balancer, intent.settings),
    ...(outcome ? [successOf(intent, outcome)] : []),
  ];
}

function failure(intent: ServiceIntent, outcome: UnitOutcome & { readonly status: "failed" }): Write {
  const { message } = outcome.failure;
  if (intent.kind === "balance" && concernsHostsOnly(outcome)) {
    return warn(intent.service, "UpdateLoadBalancerFailed", `Error updating load balancer with new hosts: ${message}`);
  }
  const action = intent.kind === "retire" ? "delete" : "ensure";
  const text = `Error syncing load balancer: failed to ${action} load balancer: ${message}`;
  return warn(intent.service, "SyncLoadBalancerFailed", text);
}

function successOf({ service }: BalanceIntent, outcome: UnitOutcome): Write {
  return concernsHostsOnly(outcome)
    ? tell(service, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
    : tell(service, "EnsuredLoadBalancer", "Ensured load balancer");
}

function concernsHostsOnly({ changes }: UnitOutcome): boolean {
  return changes.length > 0 && changes.every(({ part }) => /^(server|ip)-/.test(part));
}

function retireWrites(
  { service, keeps, certificates }: RetireIntent,
  balancer: LoadBalancerState | undefined,
  outcome: UnitOutcome | undefined,
): readonly Write[] {
  if (certificates.stale.length > 0) return [];
  if (!balancer) {
    const isKept = outcome?.changes.some(({ part, operation }) => part === "balancer" && operation === "update");
    const said = isKept
      ? tell(service, "LoadBalancerKept", "Load balancer stays, without owner")
      : tell(service, "DeletedLoadBalancer", "Deleted load balancer");
    return [{ kind: "remove-finalizer", service }, said];
  }
  if (keeps || !balancer.deleteProtection) return [];
  const kept = `load balancer ${balancer.name} is protected against deletion and stays`;
  return [{ kind: "remove-finalizer", service }, warn(service, "LoadBalancerKept", kept)];
}

function ingressWrites(service: V1Service, balancer: LoadBalancerState, settings: Settings): readonly Write[] {
  const ingress = renderIngress(balancer, settings);
  if (!ingress || sameIngress(ingress, service.status?.loadBalancer?.ingress ?? [])) return [];
  return [{ kind: "ingress", service, ingress }];
}

/** One Event per reason, however many ports or nodes it is about: each would push the others out of what was last said. */
function noteWrites({ service, spec, notes, leftOut }: BalanceIntent): readonly Write[] {
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
