/** Which cluster a command is about. */
import { oneLine } from "../diagnostics/printable.ts";
import type { KubeAccess } from "../kube/kubeconfig.ts";

/** A cluster, and how it was reached. Part of every JSON output. */
export interface Place {
  /** `--cluster-name`. */
  readonly cluster: string;
  /** Context of the kubeconfig; absent in a pod. */
  readonly context?: string;
  /** Address of the API server. */
  readonly server: string;
}

/** The cluster that an access leads to. */
export function placeOf(cluster: string, { context, server }: Pick<KubeAccess, "context" | "server">): Place {
  return { cluster, ...(context !== undefined && { context }), server: server.href.replace(/\/$/, "") };
}

/** `Cluster kubernetes (context prod, https://10.0.0.1:6443)`, the beginning of every headline. */
export function placeText(place: Place): string {
  return `Cluster ${oneLine(place.cluster)} (${wayText(place)})`;
}

/** `context prod, https://10.0.0.1:6443`. */
export function wayText({ context, server }: Place): string {
  return oneLine(`${context === undefined ? "" : `context ${context}, `}${server}`);
}
