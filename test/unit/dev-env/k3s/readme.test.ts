import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { OPTIONS, variableOf } from "../../../../dev-env/k3s/config.ts";

const README = readFileSync(new URL("../../../../dev-env/k3s/README.md", import.meta.url), "utf8");
/** Cells of every line of a table. */
const ROWS = README.split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) =>
    line
      .slice(1, -1)
      .split(" | ")
      .map((cell) => cell.trim()),
  );

describe("the README", () => {
  it.each(Object.values(OPTIONS))("explains --$flag as the help does", (option) => {
    const fallback = option.fallback && `\`${option.fallback}\``;
    expect(ROWS).toContainEqual([`\`--${option.flag}\``, `\`${variableOf(option)}\``, fallback, option.doc]);
  });

  it("names only files that are there", () => {
    const links = [...README.matchAll(/\]\((\.\.[^)]+)\)/g)].map(([, path = ""]) => path);
    expect(links.length).toBeGreaterThan(5);
    for (const path of links)
      expect(() => readFileSync(new URL(`../../../../dev-env/k3s/${path}`, import.meta.url))).not.toThrow();
  });
});
