/** Runs kubectl. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";

/** Runs kubectl and returns its output. Rejects with its error message. */
export async function kubectl(kubeconfig: string, args: readonly string[], input = ""): Promise<string> {
  const { paths } = await ensureToolchain(["kubectl"]);
  const child = spawn(paths.kubectl, ["--kubeconfig", kubeconfig, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  const code = new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  child.stdin.end(input);
  const [output, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if ((await code) !== 0) throw new Error(`kubectl ${args.join(" ")}: ${complaint.trim()}`);
  return output;
}
