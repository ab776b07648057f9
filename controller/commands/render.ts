/** `lotse render`: what the cluster wants from the cloud, as data. */
import { stringify } from "yaml";
import { wantedSpecs } from "../cluster/plan.ts";
import { refusalsOf } from "../cluster/refusals.ts";
import type { Given } from "../command-line.ts";
import { jsonText, printable } from "../printable.ts";
import { textOf } from "./cluster-access.ts";
import { readManifests } from "./manifests.ts";
import { commandConfig } from "./observe.ts";
import { applyManifests } from "./overlay.ts";
import { survey } from "./survey.ts";

export async function render({ flags }: Given): Promise<number> {
  await using ends = new AsyncDisposableStack();
  const config = commandConfig(flags, process.env);
  const from = textOf(flags.from);
  const { desired } = await survey(config, ends, ({ snapshot }) =>
    from === undefined ? snapshot : applyManifests(snapshot, readManifests(from)).snapshot,
  );
  const refused = refusalsOf(desired);
  const spec = {
    cluster: config.clusterName,
    units: Object.fromEntries(wantedSpecs(desired)),
    nodes: desired.nodes,
    refused,
  };
  process.stdout.write(flags.json ? jsonText(spec) : printable(stringify(spec)));
  return refused.length > 0 ? 1 : 0;
}
