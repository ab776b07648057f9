import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Metrics } from "../../../../controller/app/metrics.ts";
import { bannedIn } from "../../documents/banned-phrases.ts";

const FILES = "controller/deploy/chart/files";
const SOURCES = ["controller/app/metric-definitions.ts", "controller/app/metrics.ts"];

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const alerts: readonly Alert[] = parse(readFileSync(`${FILES}/alerts.yaml`, "utf8"));
const dashboard = JSON.parse(readFileSync(`${FILES}/dashboard.json`, "utf8"));
const panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[] =
  dashboard.panels;

/** Names of metrics in an expression: what is followed by labels, a range, or nothing that makes it a function. */
function metricsIn(expression: string): readonly string[] {
  const bare = expression.replaceAll(/\{[^}]*\}|"[^"]*"|\b(?:by|on) ?\([^)]*\)/g, " ");
  const names = bare.match(/\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b(?! ?\()/g) ?? [];
  return names.map((name) => name.replace(/_(bucket|sum|count)$/, ""));
}

describe("alerts", () => {
  it.each(alerts)("$alert has a severity, a summary and a description in plain English", ({ labels, annotations }) => {
    expect(["warning", "critical"]).toContain(labels.severity);
    expect(Object.keys(annotations)).toEqual(["summary", "description"]);
    expect(bannedIn(Object.values(annotations).join("\n"))).toEqual([]);
  });
});

it("notices that no replica can be scraped by a metric that does not depend on flags", () => {
  expect(alerts.find(({ alert }) => alert === "LotseDown")?.expr).toBe("absent(lotse_build_info)");
});

describe("metrics in alerts and dashboard", () => {
  const sources = SOURCES.map((file) => readFileSync(file, "utf8"));
  const all = new Metrics("0").registry.getMetricsAsArray().map(({ name }) => name);
  const fromNode = all.filter((name) => /^(nodejs|process)_/.test(name));
  const cases = [
    ...alerts.map(({ alert, expr }) => [`alert ${alert}`, [expr]] as const),
    ...panels.map(({ title, targets }) => [`panel ${title}`, targets.map(({ expr }) => expr)] as const),
  ];
  it.each(cases)("of %s exist", (_, expressions) => {
    const names = expressions.flatMap(metricsIn);
    expect(names).not.toEqual([]);
    for (const name of names.filter((it) => !fromNode.includes(it))) {
      expect(
        sources.some((text) => text.includes(`"${name}"`)),
        name,
      ).toBe(true);
    }
  });
});
