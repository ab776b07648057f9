/** `lotse preview`: shows what the controller would change right now. Read-only. */
import { startOwnEngine } from "../../app/assemble.ts";
import { previewRun } from "../../apply/runner.ts";
import type { Config } from "../../config/config.ts";
import type { FlagValues } from "../../config/flags.ts";
import { messageOf } from "../../diagnostics/errors.ts";
import { paintFor } from "../../diagnostics/paint.ts";
import { forPeople, jsonText } from "../../diagnostics/printable.ts";
import { type Prices, pricesOf } from "../../hcloud/prices.ts";
import { CloudReader } from "../../hcloud/reader.ts";
import type { Snapshot } from "../../render/cluster.ts";
import type { Refusal } from "../../render/refusals.ts";
import type { Given } from "../command-line.ts";
import { type ClusterPlan, commandConfig, open, planOf, type Session, textOf } from "../open.ts";
import { exitCodeOf, type Forecast, renderForecast } from "./forecast.ts";
import { forecastMarkdown } from "./forecast-markdown.ts";
import { forecastText } from "./forecast-text.ts";
import { readManifests } from "./manifests.ts";
import { applyManifests } from "./overlay.ts";

/** Prints the forecast. */
export async function preview(given: Given): Promise<number> {
  const { flags } = given;
  const forecast = await forecastChanges(commandConfig(flags, process.env), manifestPaths(given));
  process.stdout.write(formatted(forecast, flags));
  return exitCodeOf(forecast);
}

/** The paths of manifests: those of `--from`, and the operands. */
export function manifestPaths({ flags, operands }: Given): readonly string[] {
  return [...(textOf(flags.from)?.split("\n") ?? []), ...operands];
}

function formatted(forecast: Forecast, flags: FlagValues): string {
  if (flags.json) return jsonText(forecast);
  const shown = forPeople(forecast);
  return flags.markdown ? forecastMarkdown(shown) : forecastText(shown, paintFor(process.stdout));
}

/** The forecast for the cluster as it is, or with manifests applied. */
export async function forecastChanges(config: Config, paths: readonly string[]): Promise<Forecast> {
  await using session = await open(config);
  const { snapshot, ...manifests } = await observeWith(paths, session);
  return await forecastPlan(planOf(snapshot, session), session, manifests);
}

/** What came of reading and applying manifests. */
interface Applied {
  readonly notes: readonly string[];
  readonly refused: readonly Refusal[];
}

/** A snapshot with the manifests in these files and folders applied. */
export async function observeWith(
  paths: readonly string[],
  session: Session,
): Promise<Applied & { readonly snapshot: Snapshot }> {
  if (paths.length === 0) return { snapshot: await session.observe(), notes: [], refused: [] };
  const [manifests, observed] = await Promise.all([readManifests(paths), session.observe()]);
  const { services, nodes, refused } = manifests;
  const isEmpty = services.length + nodes.length + refused.length === 0;
  const { snapshot, notes } = applyManifests(observed, manifests);
  return { snapshot, refused, notes: isEmpty ? [`no Services or Nodes found in ${paths.join(", ")}`] : notes };
}

/** The forecast for a plan, with reasons and prices. The engine runs in its own directory, independent of the controller. */
export async function forecastPlan(
  planned: ClusterPlan,
  session: Session,
  { notes, refused }: Applied = { notes: [], refused: [] },
): Promise<Forecast> {
  const { snapshot, rendered, plan, heldBack } = planned;
  const { prices, notes: unpriced } = await fetchPrices(session);
  const { config, gateway, ends } = session;
  const outcomes =
    plan.length === 0 ? {} : await previewRun({ engine: await startOwnEngine(config, ends), gateway }, plan, rendered);
  return renderForecast({
    place: session.place,
    context: {
      rendered,
      nodes: snapshot.nodes,
      servers: snapshot.cloud.servers,
      defaults: session.options.defaults,
    },
    plan,
    ...(heldBack !== undefined && { heldBack }),
    outcomes,
    refused,
    notes: [...notes, ...unpriced],
    ...(prices && { prices }),
  });
}

/** Prices are optional: without them the forecast has a note instead. */
async function fetchPrices({
  gateway,
}: Session): Promise<{ readonly prices?: Prices; readonly notes: readonly string[] }> {
  try {
    return { prices: pricesOf(await new CloudReader(gateway).pricing()), notes: [] };
  } catch (error) {
    return { notes: [`no prices: ${messageOf(error)}`] };
  }
}
