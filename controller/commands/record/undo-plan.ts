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

const PORTS = "spec.ports ";

type Fields = Readonly<Record<string, unknown>>;

/** Annotations that differ, and the differing fields of each port. */
function restored(now: RecordedWish, then: RecordedWish): readonly ChangedField[] {
  const [ports, earlier] = [portsOf(now), portsOf(then)];
  return [
    ...differing(now.annotations, then.annotations).map((field) => {
      return { field, from: now.annotations[field], to: then.annotations[field] };
    }),
    ...[...new Set([...ports.keys(), ...earlier.keys()])].flatMap((field) => {
      const [from, to] = [ports.get(field), earlier.get(field)];
      const keys = differing(from, to);
      return keys.length === 0 ? [] : [{ field, from: portText(from, keys), to: portText(to, keys) }];
    }),
  ];
}

/** The names of fields with different values, sorted. */
function differing(a: Fields = {}, b: Fields = {}): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((key) => a[key] !== b[key]).toSorted();
}

/** Ports by their number and protocol, which are unique in a Service: `spec.ports 443/TCP`. */
function portsOf({ ports }: RecordedWish): ReadonlyMap<string, Fields> {
  const all = ports.map((port): Fields => ({ ...port }));
  return new Map(all.map((port) => [`${PORTS}${port.port}/${port.protocol ?? "TCP"}`, port]));
}

/** These fields of a port, as far as it has them. */
function portText(port: Fields | undefined, keys: readonly string[]): string | undefined {
  const set = keys.filter((key) => port?.[key] !== undefined);
  return set.length > 0 ? set.map((key) => `${key} ${port?.[key]}`).join(" ") : undefined;
}

function patchTo(intent: RecordedWish, { metadata }: V1Service, fields: readonly ChangedField[]): object {
  const annotations = fields
    .filter(({ field }) => !field.startsWith(PORTS))
    .map(({ field, to }) => [field, to ?? null]);
  return {
    metadata: {
      uid: metadata?.uid,
      resourceVersion: metadata?.resourceVersion,
      ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
    },
    ...(annotations.length < fields.length && { spec: { ports: intent.ports } }),
  };
}
