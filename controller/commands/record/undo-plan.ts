/** Plans how to restore the previous configuration of a Service. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import { loadBalancerUnit } from "../../../stacks/units/names.ts";
import { type AuditEntry, attemptKey, type RecordedWish, recordWish } from "../../record/entry.ts";
import type { ChangedField } from "../../record/forecast-text.ts";
import { OPTIONS, PREFIX } from "../../render/service/options/annotations.ts";
import { serviceName, serviceRef } from "../../render/service/ours.ts";

/** A planned undo. */
export interface Undo {
  /** `default/web`. */
  readonly service: string;
  /** When the configuration to restore was applied (ISO time), and in which run. */
  readonly at: string;
  readonly run: string;
  /** Annotations and ports that change. */
  readonly fields: readonly ChangedField[];
  /** What is not restored. */
  readonly notes: readonly string[];
  /** A merge patch, bound to the resourceVersion of the Service. */
  readonly patch: object;
}

type Change = AuditEntry & { readonly kind: "change"; readonly intent: RecordedWish };

/**
 * Restores the newest configuration on record that was applied and differs from the current one. This reverts everything
 * requested since, whether it worked or not, and a second undo reverts the first. Undefined when there is none on record.
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

/** Notes on fields that have no effect on an existing load balancer. */
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

/** Every field of every port, in a fixed order. */
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
