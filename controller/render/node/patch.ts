/** The patch that makes a Node describe its machine. */
import type { V1Node, V1NodeAddress, V1Taint } from "@kubernetes/client-node";
import type { NodeOutput } from "../../../stacks/units/outputs.ts";
import { sameAddresses } from "./addresses.ts";
import {
  type KeyChanges,
  type LabelChanges,
  type LabelOptions,
  type MachineFacts,
  planLabels,
  wantedLabels,
} from "./labels.ts";

/** Taint that kubelet sets with `--cloud-provider=external`, removed by initialisation. Matched by key alone. */
export const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";
/** Annotation with kubelet's `--node-ip`. */
export const PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip";

/** Whether the node is still to be initialised. */
export function isUninitialised({ spec }: V1Node): boolean {
  return spec?.taints?.some(({ key }) => key === UNINITIALIZED_TAINT) ?? false;
}

/** What to write to a Node. Absent parts are up to date. */
export interface NodePatch extends LabelChanges {
  readonly providerId?: string;
  /** The remaining taints, when the node is to be initialised. */
  readonly taints?: readonly V1Taint[];
  readonly addresses?: readonly V1NodeAddress[];
}

/** A cloud or dedicated server. */
export interface Machine extends MachineFacts {
  readonly providerId: string;
  /** As they should be in the Node. */
  readonly addresses: readonly V1NodeAddress[];
}

/** A patch, and what it makes of the node. */
export interface PlannedPatch {
  readonly patch: NodePatch;
  readonly isInitialisation: boolean;
  /** What Lotse writes to the node, whether it is there already or not. */
  readonly output: NodeOutput;
}

/** The patch for a node; empty when it is up to date. A ProviderID is never replaced. */
export function planPatch(node: V1Node, machine: Machine, options: LabelOptions): PlannedPatch {
  const taints = node.spec?.taints ?? [];
  const kept = taints.filter(({ key }) => key !== UNINITIALIZED_TAINT);
  const isInitialisation = kept.length !== taints.length;
  const isSame = sameAddresses(machine.addresses, node.status?.addresses ?? []);
  const wanted = wantedLabels(node, machine, options);
  const patch: NodePatch = {
    ...(!node.spec?.providerID && { providerId: machine.providerId }),
    ...planLabels(node, wanted),
    ...(isInitialisation && { taints: kept }),
    ...(!isSame && { addresses: machine.addresses }),
  };
  return { patch, isInitialisation, output: outputOf(node, machine, wanted.labels) };
}

function outputOf({ spec }: V1Node, machine: Machine, labels: KeyChanges): NodeOutput {
  const providerID = spec?.providerID || machine.providerId;
  const kept = Object.entries(labels).filter((entry): entry is [string, string] => entry[1] !== null);
  return {
    providerID,
    kind: machine.providedBy,
    serverId: Number(/\d+$/.exec(providerID)?.[0]),
    labels: Object.fromEntries(kept.toSorted()),
    addresses: machine.addresses.map(({ type, address }) => ({ type, address })),
    podCIDRs: spec?.podCIDRs ?? [],
  };
}
