/** `lotse adopt`: what taking a cluster over would mean. Reads, and changes nothing. */
import type { Given } from "../command-line.ts";
import { adoptionsOf, adoptionText } from "./adoption.ts";
import { forecastText } from "./forecast-text.ts";
import { commandConfig } from "./observe.ts";
import { paintFor, printable } from "./paint.ts";
import { foreseeFully, forPeople } from "./preview.ts";

/** Exit code when taking over would change something, or something is refused. */
const CHANGES = 2;

export async function adopt({ flags }: Given): Promise<number> {
  const { forecast, desired } = await foreseeFully(commandConfig(flags, process.env), {});
  const services = adoptionsOf(desired, forecast);
  const text = () =>
    `${printable(adoptionText(services))}\n${forecastText(forPeople(forecast), paintFor(process.stdout, process.env))}`;
  process.stdout.write(flags.json ? `${JSON.stringify({ services, forecast }, undefined, 2)}\n` : text());
  if (forecast.units.some(({ failure }) => failure !== undefined)) return 1;
  return forecast.units.length > 0 || forecast.refused.length > 0 ? CHANGES : 0;
}
