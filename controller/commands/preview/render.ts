/** `lotse render`: prints the rendered specs. */
import { stringify } from "yaml";
import { jsonText, printable } from "../../diagnostics/printable.ts";
import { wantedSpecs } from "../../guard/plan.ts";
import { renderCluster } from "../../render/cluster.ts";
import { refusalsOf } from "../../render/refusals.ts";
import type { Given } from "../command-line.ts";
import { commandConfig, open } from "../open.ts";
import { EXIT } from "../output.ts";
import { manifestPaths, observeWith } from "./preview.ts";

/** Prints the specs of all units, and refused objects. */
export async function render(given: Given): Promise<number> {
  const { flags } = given;
  await using session = await open(commandConfig(flags));
  const observed = await observeWith(manifestPaths(given), session);
  const rendered = renderCluster(observed.snapshot, session.options);
  const refused = [...observed.refused, ...refusalsOf(rendered)];
  const spec = {
    ...session.place,
    units: Object.fromEntries(wantedSpecs(rendered)),
    outputs: await session.outputs(observed.snapshot, rendered),
    refused,
  };
  process.stdout.write(flags.json ? jsonText(spec) : printable(stringify(spec)));
  return refused.length > 0 ? EXIT.refused : EXIT.nothing;
}
