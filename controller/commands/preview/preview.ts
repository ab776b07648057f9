/** `lotse preview`: shows what the controller would change right now. Read-only. */
import { startOwnEngine } from "../../app/assemble.ts";
import { runRequest } from "../../apply/runner.ts";
import type { Config } from "../../config/config.ts";
import type { FlagValues } from "../../config/flags.ts";
import { messageOf } from "../../diagnostics/errors.ts";
import { forPeople, jsonText } from "../../diagnostics/printable.ts";
import { type Prices, pricesOf } from "../../hcloud/prices.ts";
import { CloudReader } from "../../hcloud/reader.ts";
import type { Given } from "../command-line.ts";
import { type ClusterPlan, commandConfig, open, planOf, type Session } from "../open.ts";
import { paintFor } from "../paint.ts";
import { type Forecast, hasChanges, renderForecast } from "./forecast.ts";
import { forecastMarkdown } from "./forecast-markdown.ts";
import { forecastText } from "./forecast-text.ts";
import { readManifests } from "./manifests.ts";
import { applyManifests } from "./overlay.ts";

/** Exit code when there are changes, as with `terraform plan -detailed-exitcode`. */
const CHANGES = 2;

/** Prints the forecast. */
export async function preview({ flags }: Given): Promise<number> {
  const forecast = await forecastChanges(commandConfig(flags, process.env), flags);
  process.stdout.write(formatted(forecast, flags));
  if (forecast.units.some(({ failure }) => failure !== undefined)) return 1;
  return hasChanges(forecast) ? CHANGES : 0;
}

function formatted(forecast: Forecast, flags: FlagValues): string {
  if (flags.json) return jsonText(forecast);
  const shown = forPeople(forecast);
  return flags.markdown ? forecastMarkdown(shown) : forecastText(shown, paintFor(process.stdout));
}

/** The forecast for the cluster as it is, or with the manifests of `--from` applied. */
export async function forecastChanges(config: Config, { from }: FlagValues): Promise<Forecast> {
  await using session = await open(config);
  const observed = await session.observe();
  const { snapshot, notes } =
    typeof from === "string" ? applyManifests(observed, readManifests(from)) : { snapshot: observed, notes: [] };
  return await forecastPlan(planOf(snapshot, session), session, notes);
}

/** The forecast for a plan, with reasons and prices. The engine runs in its own directory, independent of the controller. */
export async function forecastPlan(
  planned: ClusterPlan,
  session: Session,
  notes: readonly string[],
): Promise<Forecast> {
  const { snapshot, rendered, plan, heldBack } = planned;
  const { prices, notes: unpriced } = await fetchPrices(session);
  const outcomes = plan.length === 0 ? {} : await previewRun(planned, session);
  return renderForecast({
    cluster: session.config.clusterName,
    context: {
      rendered,
      nodes: snapshot.nodes,
      servers: snapshot.cloud.servers,
      defaults: session.options.defaults,
    },
    plan,
    ...(heldBack !== undefined && { heldBack }),
    outcomes,
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

/** The engine's preview of a plan. The gateway lets only reads pass, whatever the engine tries. */
async function previewRun({ plan, rendered }: ClusterPlan, { config, client, gateway, ends }: Session) {
  const engine = await startOwnEngine(config, client, ends);
  const access = gateway.open({ run: "preview", mode: "preview" });
  try {
    return (await engine.run(runRequest("preview", plan, rendered, access))).outcomes;
  } finally {
    await access.close();
  }
}
