/** The plain manifests: renders of the chart for people, and for tests, that do without Helm. */
import { readFile, writeFile } from "node:fs/promises";
import { type ChartValues, renderChart } from "./render.ts";

/** One plain manifest. */
export interface Manifest {
  readonly file: URL;
  readonly summary: string;
  readonly values: ChartValues;
}

/** As in HCCM's manifests, one label selects the pods: it must never change, and a release has no name here. */
const selectorLabels = { app: "lotse", "app.kubernetes.io/name": null, "app.kubernetes.io/instance": null };

const fileOf = (name: string) => new URL(`../../controller/deploy/manifests/${name}`, import.meta.url);

/** Everything that is rendered. */
export const MANIFESTS: readonly Manifest[] = [
  { file: fileOf("lotse.yaml"), summary: "nodes and balancers", values: { selectorLabels } },
  {
    file: fileOf("lotse-networks.yaml"),
    summary: "nodes, balancers, a private network and routes in it",
    values: { selectorLabels, networking: { enabled: true } },
  },
];

/** The text that a manifest should have. */
async function renderManifest({ summary, values }: Manifest): Promise<string> {
  const rendered = await renderChart(values);
  const objects = rendered.replaceAll(/^# Source: .*\n/gm, "").replaceAll(/\n+(?=---\n|$)/g, "\n");
  return `# Lotse for ${summary}. Rendered from controller/deploy/chart: change it there, then run npm run docs.\n${objects}`;
}

/** Manifests that are not what the chart renders. */
export async function staleManifests(): Promise<readonly Manifest[]> {
  const current = await Promise.all(MANIFESTS.map(async (it) => (await renderManifest(it)) === (await textOf(it))));
  return MANIFESTS.filter((_, index) => !current[index]);
}

/** Writes all of them. */
export async function writeManifests(): Promise<void> {
  for (const manifest of MANIFESTS) await writeFile(manifest.file, await renderManifest(manifest));
}

async function textOf({ file }: Manifest): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}
