import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forPeople, jsonText, oneLine, printable } from "../../../../controller/diagnostics/printable.ts";
import { anyText, HOSTILE, TERMINAL_OBEYS } from "../../../support/hostile.ts";

describe("printable", () => {
  it.each([
    ["\u001b[2J", "\\u001b[2J"],
    ["\u009b31m", "\\u009b31m"],
    ["a\u2028b\u007f", "a\\u2028b\\u007f"],
    ["Straße 💥\t\n", "Straße 💥\t\n"],
    ["admin\u202etxt.exe", "admin\\u202etxt.exe"],
    ["\u{e0041}", "\\udb40\\udc41"],
  ])("%j becomes %j", (text, expected) => expect(printable(text)).toBe(expected));

  it("leaves JSON equivalent", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(printable(JSON.stringify({ text })))).toEqual({ text });
      }),
    );
  });

  it("turns any text into one line without active characters", () => {
    expect(oneLine("a\nb\tc\r")).toBe("a\\nb\\tc\\u000d");
    fc.assert(
      fc.property(anyText, (text) => {
        expect(oneLine(text)).not.toMatch(/\n/);
        expect(oneLine(text)).not.toMatch(TERMINAL_OBEYS);
      }),
    );
  });

  it("escapes every string in data, including field names, and nothing else", () => {
    const data = { [HOSTILE]: [HOSTILE, 1, true, null, { inner: HOSTILE }], none: undefined };
    const line = oneLine(HOSTILE);
    expect(forPeople(data)).toEqual({ [line]: [line, 1, true, null, { inner: line }], none: undefined });
    expect(forPeople(undefined)).toBeUndefined();
  });

  it("writes equivalent JSON without active characters", () => {
    expect(jsonText({ text: HOSTILE })).not.toMatch(TERMINAL_OBEYS);
    expect(JSON.parse(jsonText({ text: HOSTILE }))).toEqual({ text: HOSTILE });
  });
});
