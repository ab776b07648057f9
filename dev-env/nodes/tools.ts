/** The binaries of a world. */
import { ProgressDisplay } from "../toolchain/progress.ts";
import { ensureToolchain, nodeTools, type Toolchain, upstreamTools } from "../toolchain/toolchain.ts";

/**
 * Provides all binaries of a world, and prints the progress of downloads and builds. Those of the ingress controller and
 * of Kubernetes' own tests are left out by default: they take ten minutes to build.
 */
export async function provideNodeTools({ hasIngress = false, hasUpstream = false } = {}): Promise<Toolchain> {
  const display = new ProgressDisplay(process.stdout);
  const common = ["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl", "helm"] as const;
  try {
    const ingress = hasIngress ? (["traefik"] as const) : [];
    const upstream = hasUpstream ? upstreamTools : [];
    return await ensureToolchain([...common, ...nodeTools, ...ingress, ...upstream], display.report);
  } finally {
    display.close();
  }
}
