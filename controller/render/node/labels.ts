/** Which labels a node gets from its server, and which of them changed. */
import type { V1Node } from "@kubernetes/client-node";
import type { Server } from "../../hcloud/api.ts";

/** Who provided the machine; written once, never overwritten (K1). */
const PROVIDED_BY = "instance.hetzner.cloud/provided-by";

/** Remembers which labels of the node were copied from its server: these follow it, all others are somebody else's. */
export const COPIED_LABELS = "lotse/labels-from-server";

/** Zone names are those of the former data centres, which nodes have carried for years (N13). */
const ZONES: Readonly<Record<string, string>> = {
  nbg1: "nbg1-dc3",
  hel1: "hel1-dc2",
  fsn1: "fsn1-dc14",
  ash: "ash-dc1",
  hil: "hil-dc1",
  sin: "sin-dc1",
};

/** What labels say of a machine. */
export interface MachineFacts {
  readonly providedBy: "cloud" | "robot";
  readonly instanceType: string;
  readonly region: string;
  /** Absent when nodes are to carry none. */
  readonly zone?: string;
  /** Its own labels, of which some may be copied. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface LabelOptions {
  /** Whether nodes of cloud servers get zone labels. */
  readonly zoneLabel: boolean;
  /** Labels of servers that start with one of these are copied to their nodes. */
  readonly labelPrefixes?: readonly string[];
}

/** Keys to write; null removes one. */
export type KeyChanges = Readonly<Record<string, string | null>>;

/** Changes to a node's metadata, without what is as it should be. */
export interface LabelChanges {
  readonly labels?: KeyChanges;
  readonly annotations?: KeyChanges;
}

/** A cloud server as labels describe it. */
export function serverFacts({ server_type, location, labels }: Server, { zoneLabel }: LabelOptions): MachineFacts {
  const zone = ZONES[location.name] ?? location.name;
  const facts = { instanceType: server_type.name, region: location.name, labels };
  return { providedBy: "cloud", ...facts, ...(zoneLabel && { zone }) };
}

/** What has to change so that the node's labels say what its machine is. */
export function planLabels(node: V1Node, machine: MachineFacts, { labelPrefixes = [] }: LabelOptions): LabelChanges {
  const existing = node.metadata?.labels ?? {};
  const topology = { ...topologyLabels(machine), [PROVIDED_BY]: existing[PROVIDED_BY] ?? machine.providedBy };
  const copied = planCopies(node, machine, labelPrefixes);
  return {
    ...named("labels", changed(existing, { ...copied.labels, ...topology })),
    ...named("annotations", changed(node.metadata?.annotations ?? {}, copied.annotations)),
  };
}

/** Each of the three has a beta twin that old selectors use. What is not known is not written (N28). */
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
 * | server has it | node has it | copied by us before | then |
 * | --- | --- | --- | --- |
 * | yes | no | – | copied |
 * | yes | yes | yes | follows the server |
 * | yes | yes | no | left alone: somebody else set it (N18) |
 * | no | yes | yes | removed |
 */
function planCopies(node: V1Node, { labels }: MachineFacts, prefixes: readonly string[]) {
  const existing = node.metadata?.labels ?? {};
  const before = new Set((node.metadata?.annotations?.[COPIED_LABELS] ?? "").split(",").filter((key) => key !== ""));
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

/** Kubernetes' own namespaces: no cloud label may get in there (N17). */
function isReserved(key: string): boolean {
  const [namespace = ""] = key.includes("/") ? key.split("/") : [];
  return /(^|\.)(kubernetes|k8s)\.io$/.test(namespace);
}

function changed(existing: Readonly<Record<string, string>>, wanted: KeyChanges): KeyChanges {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => (existing[key] ?? null) !== value));
}

function named<K extends string>(key: K, changes: KeyChanges): { readonly [P in K]?: KeyChanges } {
  return Object.keys(changes).length > 0 ? ({ [key]: changes } as { [P in K]: KeyChanges }) : {};
}
