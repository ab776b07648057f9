/** A forecast as a tree, for a terminal. */

import { type Paint, plain } from "../paint.ts";
import { type Cost, type Forecast, hasChanges, type PartForecast, type UnitForecast } from "./forecast.ts";

const SIGNS = { create: "+", adopt: ">", change: "~", update: "~", replace: "±", delete: "-" } as const;
const COLOURS = { "+": "green", ">": "cyan", "~": "yellow", "±": "yellow", "-": "red" } as const;

/** Units with their resources, fields and reasons. */
export function forecastText(forecast: Forecast, paint: Paint = plain): string {
  const { units, refused, heldBack, notes } = forecast;
  const blocks = [
    paint(headline(forecast), "bold"),
    ...units.map((unit) => unitText(unit, forecast.cost?.currency, paint).join("\n")),
    ...refused.map(({ object, mistakes }) =>
      [paint(`! ${object} is refused:`, "red"), ...mistakes.map((text) => `    ${text}`)].join("\n"),
    ),
    ...(heldBack === undefined ? [] : [paint(`! held back by the guard: ${heldBack}`, "red")]),
    ...(notes.length > 0 ? [notes.map((note) => paint(`note: ${note}`, "dim")).join("\n")] : []),
    ...(forecast.cost ? [costLine(forecast.cost)] : []),
  ];
  return `${blocks.join("\n\n")}\n`;
}

/** The forecast in one line. */
export function headline(forecast: Forecast): string {
  const { cluster, units, refused } = forecast;
  if (!hasChanges(forecast))
    return `Cluster ${cluster}: nothing to change${refused.length > 0 ? `, ${refused.length} refused` : ""}`;
  const counted = (["create", "adopt", "change", "delete"] as const).flatMap((action) => {
    const count = units.filter((unit) => unit.action === action).length;
    return count > 0 ? [`${count} to ${action}`] : [];
  });
  if (refused.length > 0) counted.push(`${refused.length} refused`);
  return `Cluster ${cluster}: ${counted.join(", ")}`;
}

/** The price of all load balancers, before and after. */
export function costLine({ currency, before, after }: NonNullable<Forecast["cost"]>): string {
  const total = `Load balancers: ${money(after, currency)} a month`;
  return before === after
    ? `${total}, unchanged`
    : `${total}, ${signed(after - before)} (now ${money(before, currency)}), excluding VAT and traffic`;
}

function unitText(unit: UnitForecast, currency: string | undefined, paint: Paint): readonly string[] {
  const sign = SIGNS[unit.action];
  const cost = unit.cost && currency !== undefined ? costText(unit.cost, currency) : "";
  const title = `${sign} ${unit.object}${unit.unit.startsWith("route/") ? `: route ${unit.unit.slice("route/".length)}` : ""}`;
  return [
    paint(`${title}${cost === "" ? "" : `   ${cost}`}`, COLOURS[sign]),
    ...unit.parts.flatMap((part) => partText(part, paint)),
    ...(unit.failure === undefined ? [] : [paint(`    ! ${unit.failure}`, "red")]),
  ];
}

function partText({ part, operation, summary, reason, fields }: PartForecast, paint: Paint): readonly string[] {
  const sign = SIGNS[operation];
  const what = `    ${paint(sign, COLOURS[sign])} ${part}${summary === undefined ? "" : `: ${summary}`}`;
  if (fields.length === 0) return [`${what}${paint(`   (${reason})`, "dim")}`];
  return [what, ...fields.map((field) => `        ${fieldText(field)}${paint(`   (${field.reason})`, "dim")}`)];
}

/** A field before and after. An absent side means that it is not set there. */
export interface ChangedField {
  readonly field: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** `algorithm: round_robin → least_connections`. */
export function fieldText({ field, from, to }: ChangedField): string {
  return `${field}: ${from ?? "(none)"} → ${to ?? "(none)"}`;
}

/** The price of a unit, or how much it changes. */
export function costText({ before, after }: Cost, currency: string): string {
  if (before === after) return before === undefined ? "" : `${money(before, currency)} a month`;
  return `${signed((after ?? 0) - (before ?? 0))} ${currency} a month`;
}

function money(amount: number, currency: string): string {
  return `${amount.toFixed(2)} ${currency}`;
}

function signed(amount: number): string {
  return `${amount < 0 ? "−" : "+"}${Math.abs(amount).toFixed(2)}`;
}
