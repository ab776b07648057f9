/** Helm, as far as it is needed here: renders and checks the chart in controller/deploy/chart. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { ensureToolchain } from "../toolchain/toolchain.ts";

/** Values of the chart, as a person writes them into a file. */
export type ChartValues = Readonly<Record<string, unknown>>;

/** What a render depends on besides the values. */
export interface RenderOptions {
  readonly namespace?: string;
  readonly release?: string;
  /** APIs the cluster has besides Kubernetes' own, e.g. `monitoring.coreos.com/v1/PodMonitor`. */
  readonly apis?: readonly string[];
}

/** Folder of the chart. */
export const CHART = fileURLToPath(new URL("../../controller/deploy/chart", import.meta.url));

/** Renders the chart as `helm template` does. Throws Helm's own words when the values are refused. */
export function renderChart(values: ChartValues, options: RenderOptions = {}): Promise<string> {
  const { release = "lotse", namespace = "kube-system", apis = [] } = options;
  const given = apis.map((api) => `--api-versions=${api}`);
  return helm(["template", release, CHART, "--namespace", namespace, ...given, "--values", "-"], stringify(values));
}

/** Runs Helm with its own folders out of the way; rejects with what it wrote when it fails. */
export async function helm(args: readonly string[], input = ""): Promise<string> {
  const { paths } = await ensureToolchain(["helm"]);
  const child = spawn(paths.helm, args, { stdio: ["pipe", "pipe", "pipe"] });
  const code = new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  child.stdin.end(input);
  const [output, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if ((await code) !== 0) throw new Error(complaint.trim() || output.trim());
  return output;
}
