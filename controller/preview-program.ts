/**
 * The entry point of a plain `pulumi preview` (Pulumi.yaml names this file): observes and renders as the controller does,
 * then declares all units. It refuses `pulumi up`: `lotse run` makes changes, with a guard, approval and a record.
 */
import * as pulumi from "@pulumi/pulumi";
import { declare } from "../stacks/engine/program.ts";
import type { StackOutputs } from "../stacks/units/outputs.ts";
import { commandConfig, FLAGS_VARIABLE, open } from "./commands/open.ts";
import type { FlagValues } from "./config/flags.ts";
import { ConfigError } from "./diagnostics/errors.ts";
import { wantedSpecs } from "./guard/plan.ts";
import { renderCluster } from "./render/cluster.ts";

/** The stack's outputs. */
export const { schemaVersion, services, nodes, routes } = await declareAll();

async function declareAll(): Promise<StackOutputs> {
  if (!pulumi.runtime.isDryRun())
    throw new pulumi.RunError("this program only previews; `lotse run` makes changes, and guards and records them");
  try {
    const given = JSON.parse(process.env[FLAGS_VARIABLE] || "{}") as FlagValues;
    await using session = await open(commandConfig({ ...given, "cluster-name": pulumi.getStack() }));
    const snapshot = await session.observe();
    const rendered = renderCluster(snapshot, session.options);
    for (const spec of wantedSpecs(rendered).values()) declare(spec);
    return await session.outputs(snapshot, rendered);
  } catch (error) {
    throw error instanceof ConfigError ? new pulumi.RunError(error.message) : error;
  }
}
