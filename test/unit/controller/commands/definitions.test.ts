import { expect, it } from "vitest";
import { OTHER_COMMANDS } from "../../../../controller/commands/definitions.ts";
import { bannedIn } from "../../documents/banned-phrases.ts";

/** Examples are indented; they may name fields of the JSON output. */
const isProse = (line: string) => !line.startsWith("  ");

it.each(OTHER_COMMANDS)("the help of $name is free of banned phrases", ({ summary, epilogue = "" }) => {
  const prose = [summary, ...epilogue.split("\n").filter(isProse)].join("\n");
  expect(bannedIn(prose)).toEqual([]);
});
