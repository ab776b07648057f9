/** Forecasts of units as text, for terminals and for approvals. */

import { describeField } from "../../stacks/units/difference.ts";
import { kindOf, rangeOf } from "../../stacks/units/names.ts";
import { type Paint, plain } from "../diagnostics/paint.ts";
import type { Cost, PartForecast, UnitForecast } from "./forecast.ts";

const SIGNS = { create: "+", adopt: ">", change: "~", update: "~", replace: "±", delete: "-" } as const;
const COLOURS = { "+": "green", ">": "cyan", "~": "yellow", "±": "yellow", "-": "red" } as const;

/** A unit with its resources, fields and reasons. */
export function unitText(unit: UnitForecast, currency: string | undefined, paint: Paint = plain): readonly string[] {
  const sign = SIGNS[unit.action];
  const cost = costText(unit.cost, currency);
  const range = rangeOf(unit.unit);
  const title = `${sign} ${unit.object}${range === undefined ? "" : `: route ${range}`}`;
  return [
    paint(`${title}${cost === "" ? "" : `   ${cost}`}`, COLOURS[sign]),
    ...unit.parts.flatMap((part) => partText(part, paint)),
    ...(unit.failure === undefined ? [] : [paint(`    ! ${unit.failure}`, "red")]),
  ];
}

function partText({ part, operation, summary, reason, fields }: PartForecast, paint: Paint): readonly string[] {
  const sign = SIGNS[operation];
  const what = `    ${paint(sign, COLOURS[sign])} ${part}${summary === undefined ? "" : `: ${summary}`}`;
  const isNew = operation === "create";
  const why = fields.length === 0 || isNew ? paint(`   (${reason})`, "dim") : "";
  const inner = fields.map(
    (field) => `        ${fieldText({ ...field, part }, isNew)}${paint(`   (${field.reason})`, "dim")}`,
  );
  return [`${what}${why}`, ...inner];
}

/** A unit in one line: `create load balancer lb11 in fsn1 (+5.39 EUR a month)`. */
export function unitSummary({ unit, action, parts, cost }: UnitForecast, currency: string | undefined): string {
  const kind = kindOf(unit).replace("-", " ");
  const price = costText(cost, currency);
  const [main] = parts;
  const what =
    action === "change"
      ? parts.map(({ part, operation, fields }) => partSummary(part, operation, fields)).join(", ")
      : `${action} ${kind}${action === "create" && main?.summary ? ` ${main.summary}` : ""}`;
  return `${what}${price === "" ? "" : ` (${price})`}`;
}

function partSummary(part: string, operation: string, fields: PartForecast["fields"]): string {
  if (operation !== "update") return `${operation} ${part}`;
  return fields.map(({ field, to }) => `set ${describeField({ part, field })} to ${to ?? "(not set)"}`).join(", ");
}

/** A field before and after. An absent side means that it is not set there. */
export interface ChangedField {
  /** The resource that it belongs to, if `field` is not in words yet. */
  readonly part?: string;
  readonly field: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** `algorithm: round_robin → least_connections`, or of a new resource `algorithm: least_connections`. */
export function fieldText({ part, field, from, to }: ChangedField, isNew = false): string {
  // The resource is named in the line above.
  const words = part?.startsWith("listener-") ? describeField({ part, field }).slice(part.length + 1) : field;
  if (isNew) return `${words}: ${to}`;
  return `${words}: ${from ?? "(not set)"} → ${to ?? "(not set)"}`;
}

/** The price of a unit, or how much it changes; empty when it is unknown. */
export function costText({ before, after }: Cost = {}, currency?: string): string {
  if (currency === undefined) return "";
  if (before === after) return before === undefined ? "" : `${money(before, currency)} a month`;
  return `${signed((after ?? 0) - (before ?? 0))} ${currency} a month`;
}

/** An amount with two decimals. */
export function money(amount: number, currency: string): string {
  return `${amount.toFixed(2)} ${currency}`;
}

/** An amount with its sign. */
export function signed(amount: number): string {
  return `${amount < 0 ? "−" : "+"}${Math.abs(amount).toFixed(2)}`;
}
