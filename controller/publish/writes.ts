/** Writes to the API server, as data. */
import type { V1LoadBalancerIngress, V1Node, V1Service } from "@kubernetes/client-node";
import { EVENTS, type EventReason } from "./events.ts";

/** One write to a Service or a Node. */
export type Write =
  | { readonly kind: "add-finalizer"; readonly service: V1Service }
  | { readonly kind: "ingress"; readonly service: V1Service; readonly ingress: readonly V1LoadBalancerIngress[] }
  | { readonly kind: "remove-finalizer"; readonly service: V1Service }
  | { readonly kind: "network-condition"; readonly node: V1Node; readonly isAvailable: boolean }
  | { readonly kind: "event"; readonly event: Notice };

/** An Event on an object. */
export interface Notice {
  readonly about:
    | { readonly kind: "Service"; readonly object: V1Service }
    | { readonly kind: "Node"; readonly object: V1Node };
  readonly type: "Normal" | "Warning";
  readonly reason: EventReason;
  readonly message: string;
  /** What a warning refers to: when that changes, the same message is written again. */
  readonly occasion?: string;
}

/** What may differ from the catalogue's entry. */
type Details = Partial<Pick<Notice, "type" | "occasion">>;

/** An Event on a Service. */
export function onService(object: V1Service, reason: EventReason, message: string, details: Details = {}): Write {
  return notice({ kind: "Service", object }, reason, message, details);
}

/** An Event on a Node. */
export function onNode(object: V1Node, reason: EventReason, message: string, details: Details = {}): Write {
  return notice({ kind: "Node", object }, reason, message, details);
}

function notice(about: Notice["about"], reason: EventReason, message: string, details: Details): Write {
  return { kind: "event", event: { about, type: EVENTS[reason].type, reason, message, ...details } };
}
