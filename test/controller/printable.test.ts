import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printable } from "../../controller/printable.ts";
import { anyText } from "../support/hostile.ts";

describe("printable", () => {
  it.each([
    ["\u001b[2J", "\\u001b[2J"],
    ["\u009b31m", "\\u009b31m"],
    ["a\u2028b\u007f", "a\\u2028b\\u007f"],
    ["Straße 💥\t\n", "Straße 💥\t\n"],
  ])("%j becomes %j", (text, expected) => expect(printable(text)).toBe(expected));

  it("leaves a line of JSON what it was", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(printable(JSON.stringify({ text })))).toEqual({ text });
      }),
    );
  });
});
