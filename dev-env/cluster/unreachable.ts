/** What kube-controller-manager does to a Node whose kubelet has stopped reporting, and after it has returned. */
import type { CoreV1Api, V1Node, V1NodeCondition, V1Taint } from "@kubernetes/client-node";
import { ignoreMissing, mergePatch } from "./api.ts";

const KEY = "node.kubernetes.io/unreachable";
const TAINTS: readonly V1Taint[] = [
  { key: KEY, effect: "NoSchedule" },
  { key: KEY, effect: "NoExecute" },
];

/** Sets the kubelet's conditions to Unknown and adds the taints. A Node that no longer exists is left alone. */
export async function markUnreachable(core: CoreV1Api, name: string): Promise<void> {
  const node = await core.readNode({ name }).catch(ignoreMissing);
  if (!node) return;
  const body = { status: { conditions: lostConditions(node.status?.conditions ?? [], new Date()) } };
  const marked = await core.patchNodeStatus({ name, body }, mergePatch());
  await replaceTaints(core, marked, TAINTS);
}

/** Removes the taints. The kubelet itself reports that it is Ready. */
export async function unmarkUnreachable(core: CoreV1Api, name: string): Promise<void> {
  const node = await core.readNode({ name }).catch(ignoreMissing);
  if (node) await replaceTaints(core, node, []);
}

/** The kubelet's conditions as kube-controller-manager rewrites them. Others, such as NetworkUnavailable, are omitted. */
export function lostConditions(conditions: readonly V1NodeCondition[], now: Date): V1NodeCondition[] {
  return conditions
    .filter(({ type }) => type === "Ready" || type.endsWith("Pressure"))
    .map((condition) => ({
      ...condition,
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastTransitionTime: now,
    }));
}

/** Fails with a conflict if the Node has changed since it was read, because others write taints, too. */
async function replaceTaints(core: CoreV1Api, { metadata, spec }: V1Node, own: readonly V1Taint[]): Promise<void> {
  const { name = "", resourceVersion } = metadata ?? {};
  const before = spec?.taints ?? [];
  const taints = [...before.filter(({ key }) => key !== KEY), ...own];
  if (taints.length === before.length) return;
  await core.patchNode({ name, body: { metadata: { resourceVersion }, spec: { taints } } }, mergePatch());
}
