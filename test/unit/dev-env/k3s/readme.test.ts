import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { flagOf, SETTING_NAMES, SETTINGS, variableOf } from "../../../../dev-env/k3s/settings.ts";

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
  it.each(SETTING_NAMES)("explains %s as the help does", (name) => {
    const { fallback, doc } = SETTINGS[name];
    const names = [`--${flagOf(name)}`, variableOf(name), name].map((it) => `\`${it}\``);
    expect(ROWS).toContainEqual([...names, fallback && `\`${fallback}\``, doc]);
  });
});
