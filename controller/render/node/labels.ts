/** Node labels that describe the machine, and the changes they need. */
import type { V1Node } from "@kubernetes/client-node";
import { defined } from "../../../stacks/units/defined.ts";
import type { Server } from "../../hcloud/api.ts";

/** Kind of the machine; never overwritten (K1). */
const PROVIDED_BY = "instance.hetzner.cloud/provided-by";

/**
 * Annotation that lists the labels copied from the server. Only these follow the server; others are left alone. A kubelet
 * can write it, too, so it is believed only for labels that the kubelet could change itself.
 */
export const COPIED_LABELS = "lotse/labels-from-server";

/** Zones keep the names of the former data centres, which nodes have had for years (N13). */
const ZONES: Readonly<Record<string, string>> = {
  nbg1: "nbg1-dc3",
  hel1: "hel1-dc2",
  fsn1: "fsn1-dc14",
  ash: "ash-dc1",
  hil: "hil-dc1",
  sin: "sin-dc1",
};

/** What the labels say about a machine. */
export interface MachineFacts {
  readonly providedBy: "cloud" | "robot";
  readonly instanceType: string;
  readonly region: string;
  /** Absent when zone labels are disabled. */
  readonly zone?: string;
  /** The server's labels, some of which may be copied. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Settings for node labels. */
export interface LabelOptions {
  /** Whether nodes of cloud servers get zone labels. */
  readonly zoneLabel: boolean;
  /** Prefixes of the server labels to copy to nodes. */
  readonly labelPrefixes?: readonly string[];
}

/** Values by key; null removes a key. */
export type KeyChanges = Readonly<Record<string, string | null>>;

/** Changes to a node's metadata; unchanged keys are left out. */
export interface LabelChanges {
  readonly labels?: KeyChanges;
  readonly annotations?: KeyChanges;
}

/** Facts about a cloud server. */
export function serverFacts({ server_type, location, labels }: Server, { zoneLabel }: LabelOptions): MachineFacts {
  const zone = ZONES[location.name] ?? location.name;
  const facts = { instanceType: server_type.name, region: location.name, labels };
  return { providedBy: "cloud", ...facts, ...(zoneLabel && { zone }) };
}

/** The labels and annotations with which a node describes its machine; null for those that must go. */
export function wantedLabels(node: V1Node, machine: MachineFacts, { labelPrefixes = [] }: LabelOptions) {
  const providedBy = node.metadata?.labels?.[PROVIDED_BY] ?? machine.providedBy;
  const { labels, annotations } = planCopies(node, machine, labelPrefixes);
  return { labels: { ...labels, ...topologyLabels(machine), [PROVIDED_BY]: providedBy }, annotations };
}

/** The changes with which a node's metadata becomes as wanted. */
export function planLabels({ metadata }: V1Node, wanted: Required<LabelChanges>): LabelChanges {
  return defined({
    labels: changed(metadata?.labels ?? {}, wanted.labels),
    annotations: changed(metadata?.annotations ?? {}, wanted.annotations),
  });
}

/** Each label also has its beta name, which old selectors use. Unknown values are not written (N28). */
function topologyLabels({ instanceType, region, zone }: MachineFacts): Readonly<Record<string, string>> {
  return {
    ...(instanceType && {
      "node.kubernetes.io/instance-type": instanceType,
      "beta.kubernetes.io/instance-type": instanceType,
    }),
    ...(region && { "topology.kubernetes.io/region": region, "failure-domain.beta.kubernetes.io/region": region }),
    ...(zone && { "topology.kubernetes.io/zone": zone, "failure-domain.beta.kubernetes.io/zone": zone }),
  };
}

/**
 * | on the server | on the node | copied before | result |
 * | --- | --- | --- | --- |
 * | yes | no | – | copied |
 * | yes | yes | yes | follows the server |
 * | yes | yes | no | left alone: it was set elsewhere (N18) |
 * | no | yes | yes | removed |
 *
 * Reserved labels are neither copied nor removed, whatever the annotation lists.
 */
function planCopies(node: V1Node, { labels }: MachineFacts, prefixes: readonly string[]) {
  const existing = node.metadata?.labels ?? {};
  const recorded = (node.metadata?.annotations?.[COPIED_LABELS] ?? "").split(",");
  const before = new Set(recorded.filter((key) => key !== "" && !isReserved(key)));
  const wanted = Object.entries(labels).filter(
    ([key]) =>
      !isReserved(key) &&
      prefixes.some((prefix) => key.startsWith(prefix)) &&
      (before.has(key) || existing[key] === undefined),
  );
  const gone = [...before].filter((key) => !wanted.some(([name]) => name === key)).map((key) => [key, null]);
  const keys = wanted.map(([key]) => key).toSorted();
  return {
    labels: Object.fromEntries([...wanted, ...gone]) as KeyChanges,
    annotations: { [COPIED_LABELS]: keys.length > 0 ? keys.join(",") : null },
  };
}

/**
 * Label namespaces of Kubernetes (N17). They contain every label that the admission plugin NodeRestriction protects from
 * kubelets.
 */
function isReserved(key: string): boolean {
  const [namespace = ""] = key.includes("/") ? key.split("/") : [];
  return /(^|\.)(kubernetes|k8s)\.io$/.test(namespace);
}

/** Undefined when nothing changes. */
function changed(existing: Readonly<Record<string, string>>, wanted: KeyChanges): KeyChanges | undefined {
  const changes = Object.entries(wanted).filter(([key, value]) => (existing[key] ?? null) !== value);
  return changes.length > 0 ? Object.fromEntries(changes) : undefined;
}
