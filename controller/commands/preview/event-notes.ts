/** What Events will say once a plan is carried out, so that a forecast can say it before. Pure. */
import type { V1Node } from "@kubernetes/client-node";
import { routeUnit } from "../../../stacks/units/names.ts";
import type { UnitStates } from "../../../stacks/units/spec.ts";
import type { Plan } from "../../guard/plan.ts";
import type { EventReason } from "../../publish/events.ts";
import { routeWrites } from "../../publish/route-writes.ts";
import { serviceWritesAfter, serviceWritesBefore } from "../../publish/service-writes.ts";
import type { Notice } from "../../publish/writes.ts";
import { asApplied } from "../../record/as-applied.ts";
import type { Rendered } from "../../render/cluster.ts";
import { type BalanceIntent, isBalanced, type ServiceIntent } from "../../render/intents.ts";
import { serviceName } from "../../render/service/ours.ts";

/** Events that only repeat what a forecast lists as changes and refusals. */
const LISTED: ReadonlySet<EventReason> = new Set([
  "SyncLoadBalancerFailed",
  "EnsuringLoadBalancer",
  "DeletingLoadBalancer",
  "DeletedLoadBalancer",
  "FailedToCreateRoute",
  "ClusterCIDRMisconfigured",
] as const);

/** One note per Event on a Service or Node that the plan leads to, as if every step of it succeeded. */
export function eventNotes(rendered: Rendered, plan: Plan, nodes: readonly V1Node[]): readonly string[] {
  const applied = { ...rendered, existing: { ...rendered.existing, ...wanted(rendered) } };
  const writes = [
    ...serviceWritesBefore(rendered, plan, []),
    ...serviceWritesAfter(applied, {}),
    ...routeWrites(applied, {}, nodes),
  ];
  const events = writes.flatMap((write) => (write.kind === "event" ? [write.event] : []));
  const notes = events.filter(({ reason }) => !LISTED.has(reason)).map((event) => noteText(event, rendered.services));
  return [...new Set(notes)];
}

function wanted({ services, routes }: Rendered): UnitStates {
  const balancers = services.filter(isBalanced).map(({ unit, spec }) => [unit, asApplied(spec)] as const);
  const planned = (routes?.wanted ?? []).map(({ spec }) => [routeUnit(spec), spec] as const);
  return Object.fromEntries([...balancers, ...planned]);
}

function noteText({ about, reason, message }: Notice, services: readonly ServiceIntent[]): string {
  if (about.kind === "Node") return `Node ${about.object.metadata?.name}: ${message}`;
  const intent = services.find(({ service }) => service === about.object);
  const waiting = reason === "CertificateNotReady" && intent?.kind === "balance" ? waitingListeners(intent) : "";
  return `Service ${serviceName(about.object)}: ${message}${waiting}`;
}

/** The https listeners that are missing from the spec because they have no certificate to present. */
function waitingListeners({ spec, certificates }: BalanceIntent): string {
  const isMissing = (port: number) => spec.listeners.every(({ listenPort }) => listenPort !== port);
  const parts = [...certificates.ids.keys()].filter(isMissing).map((port) => `listener-${port}`);
  if (parts.length === 0) return "";
  return `; ${parts.join(" and ")} ${parts.length === 1 ? "follows" : "follow"} when the certificate is issued`;
}
