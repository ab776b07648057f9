/** A forecast as a tree, for a terminal. */

import { type Paint, plain } from "../../diagnostics/paint.ts";
import { money, signed, unitText } from "../../record/forecast-text.ts";
import { paragraphs, placeText } from "../output.ts";
import type { Forecast } from "./forecast.ts";

/** Units with their resources, fields and reasons. `list` comes below the headline. */
export function forecastText(forecast: Forecast, paint: Paint = plain, list?: string): string {
  const { units, refused, heldBack, notes } = forecast;
  return paragraphs(
    paint(headline(forecast), "bold"),
    list?.trimEnd(),
    ...units.map((unit) => unitText(unit, forecast.cost?.currency, paint).join("\n")),
    ...refused.map(({ object, mistakes }) =>
      [paint(`! ${object} is refused:`, "red"), ...mistakes.map((text) => `    ${text}`)].join("\n"),
    ),
    heldBack !== undefined && paint(`! held back by the guard: ${heldBack}`, "red"),
    notes.length > 0 && notes.map((note) => paint(`note: ${note}`, "dim")).join("\n"),
    forecast.cost && costLine(forecast.cost),
  );
}

/** The forecast in one line. */
export function headline(forecast: Forecast): string {
  const { units, refused } = forecast;
  const place = placeText(forecast);
  if (units.length === 0)
    return `${place}: nothing to change${refused.length > 0 ? `, ${refused.length} refused` : ""}`;
  const counted = (["create", "adopt", "change", "delete"] as const).flatMap((action) => {
    const count = units.filter((unit) => unit.action === action).length;
    return count > 0 ? [`${count} to ${action}`] : [];
  });
  if (refused.length > 0) counted.push(`${refused.length} refused`);
  return `${place}: ${counted.join(", ")}`;
}

/** The price of all load balancers, before and after. */
export function costLine({ currency, before, after }: NonNullable<Forecast["cost"]>): string {
  const total = `Load balancers: ${money(after, currency)} a month`;
  return before === after
    ? `${total}, unchanged`
    : `${total}, ${signed(after - before)} (now ${money(before, currency)}), excluding VAT and traffic`;
}
