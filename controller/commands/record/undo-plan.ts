/** What brings back what a Service asked for before its last change. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import { loadBalancerUnit } from "../../../stacks/units/names.ts";
import { type AuditEntry, attemptKey, type RecordedWish, recordWish } from "../../record/entry.ts";
import { OPTIONS, PREFIX } from "../../render/service/options/annotations.ts";
import { serviceName, serviceRef } from "../../render/service/ownership/ours.ts";
import type { ChangedField } from "../preview/forecast-text.ts";

export interface Undo {
  /** `default/web`. */
  readonly service: string;
  /** When the intent that comes back was carried out, as an ISO time, and in which run. */
  readonly at: string;
  readonly run: string;
  /** Annotations, and the ports. */
  readonly fields: readonly ChangedField[];
  /** What does not come back with it. */
  readonly notes: readonly string[];
  /** A merge patch; it holds only for the version of the Service that was looked at. */
  readonly patch: object;
}

type Change = AuditEntry & { readonly kind: "change"; readonly intent: RecordedWish };

/**
 * The newest intent in the record that was carried out and is not the present one. So whatever was asked for since is undone
 * with it, whether it worked or not, and a second undo undoes the first. Nothing when the record knows no such intent.
 */
export function planUndo(service: V1Service, entries: readonly AuditEntry[]): Undo | undefined {
  const unit = loadBalancerUnit(serviceRef(service));
  const now = recordWish(service);
  const applied = new Set(
    entries.flatMap((entry) => (entry.kind === "outcome" && entry.status === "applied" ? [attemptKey(entry)] : [])),
  );
  const isEarlier = (entry: AuditEntry): entry is Change =>
    entry.kind === "change" && entry.unit === unit && entry.intent !== undefined && applied.has(attemptKey(entry));
  const earlier = entries.filter(isEarlier).findLast(({ intent }) => restored(now, intent).length > 0);
  if (!earlier) return undefined;
  const fields = restored(now, earlier.intent);
  return {
    service: serviceName(service),
    at: earlier.at,
    run: earlier.run,
    fields,
    notes: fields.flatMap(({ field }) => LASTING[field] ?? []),
    patch: patchTo(earlier.intent, service, fields),
  };
}

const DOES_NOT_MOVE = "a load balancer cannot be moved: its location takes effect only when it is recreated";

/** What the cloud does not take back. */
const LASTING: Readonly<Record<string, string>> = {
  [PREFIX + OPTIONS.location.annotation]: DOES_NOT_MOVE,
  [PREFIX + OPTIONS.networkZone.annotation]: DOES_NOT_MOVE,
};

const PORTS = "spec.ports";

function restored(now: RecordedWish, then: RecordedWish): readonly ChangedField[] {
  const keys = [...new Set([...Object.keys(now.annotations), ...Object.keys(then.annotations)])].sort();
  const sides = [
    ...keys.map((key) => [key, now.annotations[key], then.annotations[key]] as const),
    [PORTS, portsText(now), portsText(then)] as const,
  ];
  return sides.filter(([, from, to]) => from !== to).map(([field, from, to]) => ({ field, from, to }));
}

/** Every field of every port, in an order that does not depend on who wrote it down. */
function portsText({ ports }: RecordedWish): string {
  const port = (fields: object) =>
    Object.entries(fields)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([key, value]) => `${key} ${value}`)
      .join(" ");
  return ports.map(port).join(", ");
}

function patchTo(intent: RecordedWish, { metadata }: V1Service, fields: readonly ChangedField[]): object {
  const annotations = fields.filter(({ field }) => field !== PORTS).map(({ field, to }) => [field, to ?? null]);
  return {
    metadata: {
      uid: metadata?.uid,
      resourceVersion: metadata?.resourceVersion,
      ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
    },
    ...(annotations.length < fields.length && { spec: { ports: intent.ports } }),
  };
}
