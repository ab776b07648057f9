/** `lotse preview`: shows what the controller would change right now. Read-only. */
import { startOwnEngine } from "../../app/assemble.ts";
import { previewRun } from "../../apply/preview.ts";
import { messageOf } from "../../diagnostics/errors.ts";
import { pricesOf } from "../../hcloud/prices.ts";
import type { Given } from "../command-line.ts";
import {
  type ClusterPlan,
  type CommandConfig,
  commandConfig,
  type OpenOptions,
  open,
  planOf,
  type Session,
  textOf,
} from "../open.ts";
import { print } from "../output.ts";
import { exitCodeOf, type Forecast, renderForecast } from "./forecast.ts";
import { forecastMarkdown } from "./forecast-markdown.ts";
import { forecastText } from "./forecast-text.ts";
import { readManifests } from "./manifests.ts";
import { applyManifests } from "./overlay.ts";

/** Prints the forecast. */
export async function preview(given: Given): Promise<number> {
  const { flags } = given;
  const { forecast, notes } = await forecastChanges(commandConfig(flags), manifestPaths(given));
  print(forecast, flags, (shown, paint) => {
    const all = { ...shown, notes: [...shown.notes, ...notes] };
    return flags.markdown ? forecastMarkdown(all) : forecastText(all, paint);
  });
  return exitCodeOf(forecast);
}

/** The paths of manifests: those of `--from`, and the operands. */
export function manifestPaths({ flags, operands }: Given): readonly string[] {
  return [...(textOf(flags.from)?.split("\n") ?? []), ...operands];
}

/** The forecast for the cluster as it is, or with manifests applied, and notes on what it cannot show. */
export async function forecastChanges(config: CommandConfig, paths: readonly string[], options?: OpenOptions) {
  await using session = await open(config, options);
  const { snapshot, ...manifests } = await observeWith(paths, session);
  const forecast = await forecastPlan(planOf(snapshot, session), session, manifests);
  return { forecast, notes: session.notes };
}

/** A snapshot with the manifests in these files and folders applied. */
export async function observeWith(paths: readonly string[], session: Session) {
  if (paths.length === 0) return { snapshot: await session.observe(), notes: [], refused: [] };
  const [manifests, observed] = await Promise.all([readManifests(paths), session.observe()]);
  const { services, nodes, refused } = manifests;
  const isEmpty = services.length + nodes.length + refused.length === 0;
  const { snapshot, notes } = applyManifests(observed, manifests, session.namespace);
  return { snapshot, refused, notes: isEmpty ? [`no Services or Nodes found in ${paths.join(", ")}`] : notes };
}

/** The forecast for a plan, with reasons and prices. The engine runs in its own directory, independent of the controller. */
export async function forecastPlan(
  planned: ClusterPlan,
  session: Session,
  { notes, refused }: Pick<Forecast, "notes" | "refused"> = { notes: [], refused: [] },
): Promise<Forecast> {
  const { snapshot, rendered, plan, heldBack } = planned;
  const { config, options, place, gateway, reader, ends } = session;
  // Prices are optional: without them, the forecast has a note instead.
  const priced = await reader.pricing().then(pricesOf).catch(messageOf);
  const outcomes =
    plan.length === 0 ? {} : await previewRun({ engine: await startOwnEngine(config, ends), gateway }, plan, rendered);
  return renderForecast({
    place,
    context: { rendered, nodes: snapshot.nodes, servers: snapshot.cloud.servers, defaults: options.defaults },
    plan,
    heldBack,
    outcomes,
    refused,
    ...(typeof priced === "string" ? { notes: [...notes, `no prices: ${priced}`] } : { notes, prices: priced }),
  });
}
