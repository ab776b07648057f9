/** `lotse render`: what the cluster wants from the cloud, as data. */
import { stringify } from "yaml";
import { renderCluster } from "../cluster/desired.ts";
import { wantedSpecs } from "../cluster/plan.ts";
import { refusalsOf } from "../cluster/refusals.ts";
import type { Given } from "../command-line.ts";
import { jsonText, printable } from "../printable.ts";
import { readManifests } from "./manifests.ts";
import { commandConfig, open, textOf } from "./open.ts";
import { applyManifests } from "./overlay.ts";

export async function render({ flags }: Given): Promise<number> {
  await using session = await open(commandConfig(flags, process.env));
  const from = textOf(flags.from);
  const observed = await session.observe();
  const snapshot = from === undefined ? observed : applyManifests(observed, readManifests(from)).snapshot;
  const desired = renderCluster(snapshot, session.options);
  const refused = refusalsOf(desired);
  const spec = {
    cluster: session.config.clusterName,
    units: Object.fromEntries(wantedSpecs(desired)),
    nodes: desired.nodes,
    refused,
  };
  process.stdout.write(flags.json ? jsonText(spec) : printable(stringify(spec)));
  return refused.length > 0 ? 1 : 0;
}
