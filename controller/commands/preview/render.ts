/** `lotse render`: prints the rendered specs. */
import { stringify } from "yaml";
import { jsonText, printable } from "../../diagnostics/printable.ts";
import { wantedSpecs } from "../../guard/plan.ts";
import { renderCluster } from "../../render/cluster.ts";
import { refusalsOf } from "../../render/refusals.ts";
import type { Given } from "../command-line.ts";
import { commandConfig, open, textOf } from "../open.ts";
import { readManifests } from "./manifests.ts";
import { applyManifests } from "./overlay.ts";

/** Prints the specs of all units, and refused objects. */
export async function render({ flags }: Given): Promise<number> {
  await using session = await open(commandConfig(flags, process.env));
  const from = textOf(flags.from);
  const observed = await session.observe();
  const snapshot = from === undefined ? observed : applyManifests(observed, readManifests(from)).snapshot;
  const rendered = renderCluster(snapshot, session.options);
  const refused = refusalsOf(rendered);
  const spec = {
    cluster: session.config.clusterName,
    units: Object.fromEntries(wantedSpecs(rendered)),
    nodes: rendered.nodes,
    refused,
  };
  process.stdout.write(flags.json ? jsonText(spec) : printable(stringify(spec)));
  return refused.length > 0 ? 1 : 0;
}
