/** Runs kubectl. */
import { run } from "../../dev-env/toolchain/run.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";

/** Runs kubectl and returns its output. Rejects with its error message. */
export async function kubectl(kubeconfig: string, args: readonly string[], input = ""): Promise<string> {
  const { paths } = await ensureToolchain(["kubectl"]);
  return run(paths.kubectl, ["--kubeconfig", kubeconfig, ...args], { input });
}
