/** `lotse adopt`: what taking a cluster over would mean. Reads, and changes nothing. */
import type { Given } from "../command-line.ts";
import { forPeople, jsonText } from "../printable.ts";
import { type Adoption, adoptionsOf, adoptionText } from "./adoption.ts";
import type { Forecast } from "./forecast.ts";
import { forecastText } from "./forecast-text.ts";
import { commandConfig } from "./observe.ts";
import { paintFor } from "./paint.ts";
import { foreseeFully } from "./preview.ts";

/** Exit code when taking over would change something, or something is refused. */
const CHANGES = 2;

export async function adopt({ flags }: Given): Promise<number> {
  const { forecast, desired } = await foreseeFully(commandConfig(flags, process.env), {});
  const services = adoptionsOf(desired, forecast);
  process.stdout.write(flags.json ? jsonText({ services, forecast }) : textOf(forPeople({ services, forecast })));
  if (forecast.units.some(({ failure }) => failure !== undefined)) return 1;
  return forecast.units.length > 0 || forecast.refused.length > 0 ? CHANGES : 0;
}

function textOf({
  services,
  forecast,
}: {
  readonly services: readonly Adoption[];
  readonly forecast: Forecast;
}): string {
  return `${adoptionText(services)}\n${forecastText(forecast, paintFor(process.stdout, process.env))}`;
}
