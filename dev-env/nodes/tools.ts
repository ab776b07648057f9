/** The binaries of a world. */
import { ProgressDisplay } from "../toolchain/progress.ts";
import { ensureToolchain, nodeTools, type Toolchain } from "../toolchain/toolchain.ts";

/** Provides all binaries of a world, and prints the progress of downloads and builds. */
export async function provideNodeTools(): Promise<Toolchain> {
  const display = new ProgressDisplay(process.stdout);
  const common = ["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl", "helm"] as const;
  try {
    return await ensureToolchain([...common, ...nodeTools], display.report);
  } finally {
    display.close();
  }
}
