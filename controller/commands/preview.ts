/** `lotse preview`: what the controller would change right now. Reads, and changes nothing. */
import { startOwnEngine } from "../assemble.ts";
import type { Desired } from "../cluster/desired.ts";
import type { Plan } from "../cluster/plan.ts";
import { runRequest } from "../cluster/run-request.ts";
import type { Given } from "../command-line.ts";
import type { Config } from "../config.ts";
import { messageOf } from "../errors.ts";
import type { FlagValues } from "../flags.ts";
import { type Prices, pricesOf } from "../hcloud/prices.ts";
import { CloudReader } from "../hcloud/reader.ts";
import { forPeople, jsonText } from "../printable.ts";
import { type Forecast, hasChanges, renderForecast } from "./forecast.ts";
import { forecastMarkdown } from "./forecast-markdown.ts";
import { forecastText } from "./forecast-text.ts";
import { readManifests } from "./manifests.ts";
import { commandConfig, type Sight } from "./observe.ts";
import { applyManifests, type Imagined } from "./overlay.ts";
import { paintFor } from "./paint.ts";
import { survey } from "./survey.ts";

/** Exit code when there is something to change, as `terraform plan -detailed-exitcode` has made usual. */
const CHANGES = 2;

export async function preview({ flags }: Given): Promise<number> {
  const config = commandConfig(flags, process.env);
  const forecast = await foresee(config, flags);
  process.stdout.write(formatted(forecast, flags));
  if (forecast.units.some(({ failure }) => failure !== undefined)) return 1;
  return hasChanges(forecast) ? CHANGES : 0;
}

function formatted(forecast: Forecast, flags: FlagValues): string {
  if (flags.json) return jsonText(forecast);
  const shown = forPeople(forecast);
  return flags.markdown ? forecastMarkdown(shown) : forecastText(shown, paintFor(process.stdout, process.env));
}

/** Looks, plans and lets the engine say what it would do, in a folder of its own: the controller may run meanwhile. */
export async function foresee(config: Config, flags: FlagValues): Promise<Forecast> {
  return (await foreseeFully(config, flags)).forecast;
}

/** The same, with what it was foreseen from. */
export async function foreseeFully(config: Config, flags: FlagValues): Promise<Foresight> {
  await using ends = new AsyncDisposableStack();
  const notes: string[] = [];
  const { sight, snapshot, desired, plan, stopped } = await survey(config, ends, (seen) => {
    const imagined = imagine(seen, flags);
    notes.push(...imagined.notes);
    return imagined.snapshot;
  });
  const priced = await fetchPrices(sight);
  const outcomes = plan.length === 0 ? {} : await rehearse(plan, desired, { config, sight, ends });
  const { nodes, cloud } = snapshot;
  const forecast = renderForecast({
    cluster: config.clusterName,
    context: { desired, nodes, servers: cloud.servers, defaults: sight.options.defaults },
    plan,
    ...(stopped !== undefined && { heldBack: stopped }),
    outcomes,
    notes: [...notes, ...priced.notes],
    ...(priced.prices && { prices: priced.prices }),
  });
  return { forecast, desired };
}

export interface Foresight {
  readonly forecast: Forecast;
  readonly desired: Desired;
}

/** What is observed, with the manifests of `--from` applied to it. */
function imagine({ snapshot }: Sight, { from }: FlagValues): Imagined {
  return typeof from === "string" ? applyManifests(snapshot, readManifests(from)) : { snapshot, notes: [] };
}

/** Prices are worth having, and no reason to fail: who may not read them still sees the changes. */
async function fetchPrices({
  gateway,
}: Sight): Promise<{ readonly prices?: Prices; readonly notes: readonly string[] }> {
  try {
    return { prices: pricesOf(await new CloudReader(gateway).pricing()), notes: [] };
  } catch (error) {
    return { notes: [`no prices: ${messageOf(error)}`] };
  }
}

interface Stage {
  readonly config: Config;
  readonly sight: Sight;
  readonly ends: AsyncDisposableStack;
}

/** The engine's own word on a plan. The gateway lets only reads pass, whatever the engine may try. */
async function rehearse(plan: Plan, desired: Desired, { config, sight, ends }: Stage) {
  const engine = await startOwnEngine(config, sight.client, ends);
  const access = sight.gateway.open({ run: "preview", mode: "preview" });
  try {
    return (await engine.run(runRequest("preview", plan, desired, access))).outcomes;
  } finally {
    await access.close();
  }
}
