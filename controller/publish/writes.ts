/** What is to be written back to Kubernetes, as data. */
import type { V1LoadBalancerIngress, V1Node, V1Service } from "@kubernetes/client-node";

export type Write =
  | { readonly kind: "add-finalizer"; readonly service: V1Service }
  | { readonly kind: "ingress"; readonly service: V1Service; readonly ingress: readonly V1LoadBalancerIngress[] }
  | { readonly kind: "remove-finalizer"; readonly service: V1Service }
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
  /** What it is said about, for warnings that are worth saying again when that has changed. */
  readonly occasion?: string;
}

/** A notice on a Service. */
export function onService(object: V1Service, notice: Omit<Notice, "about">): Write {
  return { kind: "event", event: { about: { kind: "Service", object }, ...notice } };
}

/** A notice on a Node. */
export function onNode(object: V1Node, notice: Omit<Notice, "about">): Write {
  return { kind: "event", event: { about: { kind: "Node", object }, ...notice } };
}
