import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SETTINGS, variableOf } from "../../../../dev-env/k3s/settings.ts";

const PAGE = readFileSync(new URL("../../../../docs/how-to/development-environment.md", import.meta.url), "utf8");
/** Cells of every line of a table. */
const ROWS = PAGE.split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) =>
    line
      .slice(1, -1)
      .split(" | ")
      .map((cell) => cell.trim()),
  );

describe("the page about the environment", () => {
  it.each(Object.entries(SETTINGS))("explains %s as the help does", (name, setting) => {
    const fallback = setting.fallback && `\`${setting.fallback}\``;
    expect(ROWS).toContainEqual([
      `\`--${setting.flag}\``,
      `\`${variableOf(setting)}\``,
      `\`${name}\``,
      fallback,
      setting.doc,
    ]);
  });
});
