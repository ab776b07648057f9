/** `lotse adopt`: shows what a migration to Lotse would change. Read-only. */

import { forPeople, jsonText } from "../../diagnostics/printable.ts";
import type { Given } from "../command-line.ts";
import { commandConfig, open, planOf } from "../open.ts";
import { paintFor } from "../paint.ts";
import { forecastText } from "../preview/forecast-text.ts";
import { forecastPlan } from "../preview/preview.ts";
import { adoptionsOf, adoptionText } from "./adoption.ts";

/** Exit code when the migration would change or refuse something. */
const CHANGES = 2;

/** Prints the load balancer of each Service, and the changes of the first run. */
export async function adopt({ flags }: Given): Promise<number> {
  await using session = await open(commandConfig(flags, process.env));
  const planned = planOf(await session.observe(), session);
  const forecast = await forecastPlan(planned, session, []);
  const services = adoptionsOf(planned.rendered, forecast);
  const shown = forPeople({ services, forecast });
  const paint = paintFor(process.stdout);
  process.stdout.write(
    flags.json
      ? jsonText({ services, forecast })
      : `${adoptionText(shown.services)}\n${forecastText(shown.forecast, paint)}`,
  );
  if (forecast.units.some(({ failure }) => failure !== undefined)) return 1;
  return forecast.units.length > 0 || forecast.refused.length > 0 ? CHANGES : 0;
}
