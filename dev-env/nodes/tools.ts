/** The binaries of a world. */
import { provideTools } from "../toolchain/progress.ts";
import { nodeTools, type Toolchain, upstreamTools } from "../toolchain/toolchain.ts";

/**
 * Provides all binaries of a world, and prints the progress of downloads and builds. Those of the ingress controller and
 * of Kubernetes' own tests are left out by default: they take ten minutes to build.
 */
export async function provideNodeTools({ hasIngress = false, hasUpstream = false } = {}): Promise<Toolchain> {
  const common = ["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl", "helm"] as const;
  const ingress = hasIngress ? (["traefik"] as const) : [];
  const upstream = hasUpstream ? upstreamTools : [];
  return provideTools(process.stdout, [...common, ...nodeTools, ...ingress, ...upstream]);
}
