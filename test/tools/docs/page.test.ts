import { describe, expect, it } from "vitest";
import { mentionsIn, renderPage } from "./page.ts";
import { SERVICE_SECTIONS } from "./services-table.ts";
import { SECTIONS } from "./table.ts";

const rows = (name: string) =>
  mentionsIn({ name, file: "a.test.ts" }).map(({ row, isUnlike }) => (isUnlike ? `not ${row}` : row));

describe("a test's name", () => {
  it.each([
    ["group > framework N21, N23: does it", ["framework N21", "framework N23"]],
    ["HCCM K2 to K4, K7, framework N01: does it", ["HCCM K2", "HCCM K3", "HCCM K4", "HCCM K7", "framework N01"]],
    ["framework A09 to A11: does it", ["framework A09", "framework A10", "framework A11"]],
    ["unlike HCCM R12: does otherwise", ["not HCCM R12"]],
    ["unlike HCCM N15, unlike framework N32: does otherwise", ["not HCCM N15", "not framework N32"]],
    ["framework R25b: does it", ["framework R25b"]],
    ["framework 4.2: names no row", []],
    ["does it", []],
  ])("%s", (name, expected) => {
    expect(rows(name)).toEqual(expected);
  });
});

describe("the page", () => {
  const section = {
    title: "Nodes",
    source: "HCCM",
    rows: [
      { id: "N1", text: "one" },
      { id: "N2", text: "two" },
      { id: "N3", text: "three", notApplicable: "never" },
      { id: "N4", text: "four" },
    ],
  } as const;
  const page = renderPage(
    "Nodes",
    [section],
    [
      { name: "a > HCCM N1: does it", file: "test/a.test.ts" },
      { name: "a > HCCM N2: does it in part", file: "test/a.test.ts" },
      { name: "a > unlike HCCM N2: does otherwise", file: "test/b.test.ts" },
    ],
  );

  it("shows for every row what its tests prove", () => {
    expect(page).toContain("| N1 | one | matched | [does it](../../test/a.test.ts) |");
    expect(page).toContain("| N2 | two | beaten | [does otherwise](../../test/b.test.ts) |");
    expect(page).toContain("| N3 | three | not applicable | never |");
    expect(page).toContain("| N4 | four | open |  |");
    expect(page).toContain("1 matched, 1 beaten, 1 not applicable, 1 open.");
  });

  it("lists every row once", () => {
    const ids = [...SECTIONS, ...SERVICE_SECTIONS].flatMap(({ source, rows: all }) =>
      all.map(({ id }) => `${source} ${id}`),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});
