/** The cluster alone, for commands that need no cloud. */
import { ConfigError } from "../errors.ts";
import { clusterName } from "../flag-values.ts";
import type { FlagValues } from "../flags.ts";
import { KubeClient } from "../kube/client.ts";
import { loadAccess } from "../kube/kubeconfig.ts";
import type { Environment } from "../reading.ts";
import { kubeconfigOf } from "./observe.ts";

export interface ClusterAccess {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly clusterName: string;
}

export async function openAccess(
  flags: FlagValues,
  env: Environment,
  ends: AsyncDisposableStack,
): Promise<ClusterAccess> {
  const name = textOf(flags["cluster-name"]) ?? "kubernetes";
  const parsed = clusterName(name);
  if (!("value" in parsed)) throw new ConfigError([`--cluster-name: ${JSON.stringify(name)} is not ${parsed.allowed}`]);
  const kubeconfig = textOf(flags.kubeconfig) ?? kubeconfigOf(env);
  const client = new KubeClient(await loadAccess(kubeconfig, textOf(flags.master)));
  ends.defer(() => client.close());
  const namespace = textOf(flags.namespace) ?? env.POD_NAMESPACE ?? "kube-system";
  return { client, namespace, clusterName: parsed.value };
}

/** A flag's text, if it was given one. */
export function textOf(value: FlagValues[string]): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
