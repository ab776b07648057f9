/** Runs Helm to render the chart in controller/deploy/chart. */
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { run } from "../toolchain/run.ts";
import { ensureToolchain } from "../toolchain/toolchain.ts";

/** Chart values, as in a values file. */
export type ChartValues = Readonly<Record<string, unknown>>;

/** Inputs of a render besides the values. */
export interface RenderOptions {
  readonly namespace?: string;
  readonly release?: string;
  /** Custom APIs that the cluster offers, e.g. `monitoring.coreos.com/v1/PodMonitor`. */
  readonly apis?: readonly string[];
}

/** Folder of the chart. */
export const CHART = fileURLToPath(new URL("../../controller/deploy/chart", import.meta.url));

/** Renders the chart with `helm template`. Rejects with Helm's error message if the values are invalid. */
export function renderChart(values: ChartValues, options: RenderOptions = {}): Promise<string> {
  const { release = "lotse", namespace = "kube-system", apis = [] } = options;
  const flags = apis.map((api) => `--api-versions=${api}`);
  return helm(["template", release, CHART, "--namespace", namespace, ...flags, "--values", "-"], stringify(values));
}

/** Runs Helm and returns its output. Rejects with its error message if it fails. */
export async function helm(args: readonly string[], input = ""): Promise<string> {
  const { paths } = await ensureToolchain(["helm"]);
  return run(paths.helm, args, { input });
}
