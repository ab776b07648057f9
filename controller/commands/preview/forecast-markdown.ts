/** A forecast as Markdown, for a comment on a pull request. */
import { rangeOf } from "../../../stacks/units/names.ts";
import type { PartForecast, UnitForecast } from "../../record/forecast.ts";
import { costText, fieldText } from "../../record/forecast-text.ts";
import { paragraphs } from "../output.ts";
import type { Forecast } from "./forecast.ts";
import { costLine, headline } from "./forecast-text.ts";

const VERBS = { create: "create", adopt: "take over", change: "change", delete: "**delete**" } as const;

/** A table of units, with the resources in collapsible sections. */
export function forecastMarkdown(forecast: Forecast): string {
  const { units, refused, heldBack, notes, cost } = forecast;
  return paragraphs(
    `### ${escapeMarkdown(headline(forecast))}`,
    units.length > 0 && table(units, cost?.currency),
    ...units.filter(({ parts }) => parts.length > 0).map(details),
    ...refused.map(
      ({ object, mistakes }) =>
        `> [!WARNING]\n> ${escapeMarkdown(object)} is refused: ${mistakes.map(escapeMarkdown).join("; ")}`,
    ),
    heldBack !== undefined && `> [!CAUTION]\n> Held back by the guard: ${escapeMarkdown(heldBack)}`,
    notes.length > 0 && notes.map((note) => `- ${escapeMarkdown(note)}`).join("\n"),
    cost && costLine(cost),
  );
}

function table(units: readonly UnitForecast[], currency: string | undefined): string {
  const rows = units.map(({ action, object, unit, parts, cost, failure }) => {
    const count = failure === undefined ? String(parts.length) : `fails: ${escapeMarkdown(failure)}`;
    const range = rangeOf(unit);
    const name = range === undefined ? object : `${object}, route ${range}`;
    return `| ${VERBS[action]} | ${escapeMarkdown(name)} | ${count} | ${costText(cost, currency)} |`;
  });
  return ["| | for | resources | price |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function details({ object, unit, parts }: UnitForecast): string {
  const name = rangeOf(unit) === undefined ? object : unit;
  return `<details><summary>${escapeMarkdown(name)}</summary>\n\n${parts.flatMap(partLines).join("\n")}\n\n</details>`;
}

function partLines({ part, operation, summary, reason, fields }: PartForecast): readonly string[] {
  const what = `- ${operation} ${escapeMarkdown(part)}${summary === undefined ? "" : `: ${escapeMarkdown(summary)}`}`;
  const isNew = operation === "create";
  const why = fields.length === 0 || isNew ? ` (${escapeMarkdown(reason)})` : "";
  const inner = fields.map(
    (field) => `  - ${escapeMarkdown(fieldText({ ...field, part }, isNew))} (${escapeMarkdown(field.reason)})`,
  );
  return [`${what}${why}`, ...inner];
}

/**
 * Names and annotations are untrusted: nothing in them may become markup, a link or a mention. A backslash does not keep
 * addresses and mentions from becoming links; a zero-width space does, here as an entity, because a terminal may show it.
 */
function escapeMarkdown(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/[\\`*_{}[\]<>()#|!~&]/g, "\\$&")
    .replace(/@|:(?=\/\/)|www(?=\.)/gi, "$&&#8203;");
}
