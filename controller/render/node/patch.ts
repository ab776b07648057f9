/** The patch that makes a Node describe its machine. */
import type { V1Node, V1NodeAddress, V1Taint } from "@kubernetes/client-node";
import { sameAddresses } from "./addresses.ts";
import { type LabelChanges, type LabelOptions, type MachineFacts, planLabels } from "./labels.ts";

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

/** A patch, and whether it initialises the node. */
export interface PlannedPatch {
  readonly patch: NodePatch;
  readonly isInitialisation: boolean;
}

/** The patch for a node; empty when it is up to date. A ProviderID is never replaced. */
export function planPatch(node: V1Node, machine: Machine, options: LabelOptions): PlannedPatch {
  const taints = node.spec?.taints ?? [];
  const kept = taints.filter(({ key }) => key !== UNINITIALIZED_TAINT);
  const isInitialisation = kept.length !== taints.length;
  const isSame = sameAddresses(machine.addresses, node.status?.addresses ?? []);
  const patch: NodePatch = {
    ...(!node.spec?.providerID && { providerId: machine.providerId }),
    ...planLabels(node, machine, options),
    ...(isInitialisation && { taints: kept }),
    ...(!isSame && { addresses: machine.addresses }),
  };
  return { patch, isInitialisation };
}
