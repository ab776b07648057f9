/** What has to be written so that a Node says what its machine is. */
import type { V1Node, V1NodeAddress, V1Taint } from "@kubernetes/client-node";
import { sameAddresses } from "./addresses.ts";
import { type LabelChanges, type LabelOptions, type MachineFacts, planLabels } from "./labels.ts";

/** The taint that kubelet sets under `--cloud-provider=external`; it goes when a node is initialised. Matched by key alone. */
export const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";
/** Where kubelet writes its `--node-ip`. */
export const PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip";

/** True while the node waits to be initialised. */
export function isUninitialised({ spec }: V1Node): boolean {
  return spec?.taints?.some(({ key }) => key === UNINITIALIZED_TAINT) ?? false;
}

/** What is to be written to a Node. Absent parts are as they should be. */
export interface NodePatch extends LabelChanges {
  readonly providerId?: string;
  /** The taints to keep, when the node is to be initialised. */
  readonly taints?: readonly V1Taint[];
  readonly addresses?: readonly V1NodeAddress[];
}

/** The machine behind a node, of either kind. */
export interface Machine extends MachineFacts {
  readonly providerId: string;
  /** As they are to be in the Node. */
  readonly addresses: readonly V1NodeAddress[];
}

export interface PlannedPatch {
  readonly patch: NodePatch;
  readonly isInitialisation: boolean;
}

/** The patch, empty for a node that is as it should be. A ProviderID is never replaced. */
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
