import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULT_BEHAVIOUR } from "../../../../dev-env/cloud/options.ts";

const page = readFileSync(new URL("../../../../docs/reference/simulator.md", import.meta.url), "utf8");

test("the reference lists every switch with its default", () => {
  const rows = page.matchAll(/^\| `(\w+)` +\| `(.+?)` +\|/gm);
  const documented = Object.fromEntries([...rows].map(([, name, value]) => [name, JSON.parse(value ?? "null")]));
  expect(documented).toEqual(DEFAULT_BEHAVIOUR);
});
