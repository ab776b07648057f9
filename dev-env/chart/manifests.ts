/** The plain manifests, rendered from the chart for installations without Helm. */
import { readFile, writeFile } from "node:fs/promises";
import { type ChartValues, renderChart } from "./render.ts";

/** One plain manifest. */
export interface Manifest {
  readonly file: URL;
  readonly summary: string;
  readonly values: ChartValues;
}

/** One label selects the pods, as in HCCM's manifests: there is no release name here, and selectors are immutable. */
const selectorLabels = { app: "lotse", "app.kubernetes.io/name": null, "app.kubernetes.io/instance": null };

const fileOf = (name: string) => new URL(`../../controller/deploy/manifests/${name}`, import.meta.url);

/** All plain manifests. */
export const MANIFESTS: readonly Manifest[] = [
  { file: fileOf("lotse.yaml"), summary: "nodes and load balancers", values: { selectorLabels } },
  {
    file: fileOf("lotse-networks.yaml"),
    summary: "nodes, load balancers, a private network and its routes",
    values: { selectorLabels, networking: { enabled: true } },
  },
];

/** Renders the current text of a manifest. */
async function renderManifest({ summary, values }: Manifest): Promise<string> {
  const rendered = await renderChart(values);
  const objects = rendered.replaceAll(/^# Source: .*\n/gm, "").replaceAll(/\n+(?=---\n|$)/g, "\n");
  return `# Lotse for ${summary}. Rendered from controller/deploy/chart: change it there, then run npm run docs.\n${objects}`;
}

/** Manifests that differ from what the chart renders. */
export async function staleManifests(): Promise<readonly Manifest[]> {
  const isStale = async (manifest: Manifest) =>
    (await readFile(manifest.file, "utf8").catch(() => "")) !== (await renderManifest(manifest));
  const stale = await Promise.all(MANIFESTS.map(isStale));
  return MANIFESTS.filter((_, index) => stale[index]);
}

/** Renders and writes all manifests. */
export async function writeManifests(): Promise<void> {
  for (const manifest of MANIFESTS) await writeFile(manifest.file, await renderManifest(manifest));
}
