import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseLabelSelector } from "../../../../controller/formats/label-selector.ts";
import { hostileText } from "../../../support/hostile.ts";

const matches = (text: string, labels: Record<string, string>) => parseLabelSelector(text)?.(labels);

describe("parseLabelSelector", () => {
  it.each<[string, Record<string, string>, boolean]>([
    ["", {}, true],
    ["  ", { a: "b" }, true],
    ["a", { a: "" }, true],
    ["a", {}, false],
    ["!a", {}, true],
    ["!a", { a: "x" }, false],
    ["! a", { a: "x" }, false],
    ["a=b", { a: "b" }, true],
    ["a=b", { a: "c" }, false],
    ["a=b", {}, false],
    ["a==b", { a: "b" }, true],
    ["a = b", { a: "b" }, true],
    ["a=", { a: "" }, true],
    ["a=", { a: "x" }, false],
    ["a= ", { a: "" }, true],
    ["a=,b= ", { a: "", b: "" }, true],
    ["a!=b", { a: "c" }, true],
    ["a!=b", { a: "b" }, false],
    ["a!=b", {}, true],
    ["a in (x,y)", { a: "y" }, true],
    ["a in (x,y)", { a: "z" }, false],
    ["a in (x,y)", {}, false],
    ["a in ( x , y )", { a: "x" }, true],
    ["a  in\t(x)", { a: "x" }, true],
    ["a in ()", { a: "" }, true],
    ["a in ()", { a: "x" }, false],
    ["a in (x,,y)", { a: "" }, true],
    ["a notin (x,y)", { a: "z" }, true],
    ["a notin (x,y)", { a: "x" }, false],
    ["a notin (x,y)", {}, true],
    ["a notin\n(x)", { a: "x" }, false],
    ["a in (x,notin,in)", { a: "in" }, true],
    ["in in (x)", { in: "x" }, true],
    ["a>1", { a: "2" }, true],
    ["a > 1", { a: "1" }, false],
    ["a >1,b", { a: "02", b: "" }, true],
    ["a>1", { a: "x" }, false],
    ["a>1", { a: "" }, false],
    ["a>1", {}, false],
    ["a<1", { a: "0" }, true],
    ["a<1", { a: "1" }, false],
    ["a>9007199254740992", { a: "9007199254740993" }, true],
    ["a=b,c=d", { a: "b", c: "d" }, true],
    ["a=b,c=d", { a: "b", c: "e" }, false],
    ["a=b,c in (x,y),!e,f", { a: "b", c: "x", f: "" }, true],
    ["node-role.kubernetes.io/worker=true", { "node-role.kubernetes.io/worker": "true" }, true],
    ["0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)", { "0.1.2.domain/99": "x" }, true],
  ])("%j on %j: %s", (text, labels, expected) => {
    expect(matches(text, labels)).toBe(expected);
  });

  it.each([
    "x=a||y=b",
    "x==a==b",
    "!x=a",
    "x,,y",
    ",x,y",
    "x,",
    "a in (x),",
    "x nott in (y)",
    "a in (x)b notin ()",
    "a in (x y)",
    "a notin(",
    "a (",
    "(",
    ")",
    "a)",
    "a in (b",
    "a in b",
    "a in (b))",
    "a in ((b))",
    "=a",
    "!",
    "a b",
    "-a=b",
    "a-=b",
    "a=-b",
    "a=b-",
    "a/b/c=d",
    "a//b=c",
    "/a=b",
    "a/=b",
    "A/b=c",
    `${"a".repeat(64)}=b`,
    `a=${"b".repeat(64)}`,
    `a in (${"b".repeat(64)})`,
    `${"a".repeat(254)}/b=c`,
    "ä=b",
    "a=ü",
    "{}",
    "a=b;c=d",
    "a>",
    "a>x",
    "a>-1",
    "a>1.5",
    "a>=1",
    "a<>1",
    "!a>1",
    "a=b\u0000",
  ])("rejects %j, which would match no node and empty the load balancer", (text) => {
    expect(parseLabelSelector(text)).toBeUndefined();
  });

  it("accepts keys and values of the maximum length", () => {
    const key = `${"p".repeat(63)}.example.com/${"k".repeat(63)}`;
    const value = "v".repeat(63);
    expect(matches(`${key}=${value}`, { [key]: value })).toBe(true);
  });

  it.each(["constructor", "toString", "hasOwnProperty", "valueOf"])("treats %s as an ordinary, absent key", (key) => {
    expect(matches(key, {})).toBe(false);
    expect(matches(`!${key}`, {})).toBe(true);
    expect(matches(`${key}!=x`, {})).toBe(true);
    expect(matches(key, { [key]: "x" })).toBe(true);
  });

  it("agrees with a straightforward evaluation of every well-formed selector", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 2 });
    const blank = fc.constantFrom("", " ", "\t");
    const term = fc.oneof(
      word.map((key) => ({ text: key, holds: (l: Map<string, string>) => l.has(key) })),
      word.map((key) => ({ text: `!${key}`, holds: (l: Map<string, string>) => !l.has(key) })),
      fc.tuple(word, word, blank).map(([key, value, gap]) => ({
        text: `${key}${gap}=${gap}${value}`,
        holds: (l: Map<string, string>) => l.get(key) === value,
      })),
      fc.tuple(word, word, blank).map(([key, value, gap]) => ({
        text: `${key}${gap}!=${gap}${value}`,
        holds: (l: Map<string, string>) => l.get(key) !== value,
      })),
      fc.tuple(word, fc.array(word, { minLength: 1, maxLength: 3 }), fc.boolean()).map(([key, values, isIn]) => ({
        text: `${key} ${isIn ? "in" : "notin"} (${values.join(",")})`,
        holds: (l: Map<string, string>) => values.includes(l.get(key) ?? "") === isIn,
      })),
    );
    fc.assert(
      fc.property(fc.array(term, { minLength: 1, maxLength: 4 }), fc.dictionary(word, word), (terms, labels) => {
        const expected = terms.every(({ holds }) => holds(new Map(Object.entries(labels))));
        expect(matches(terms.map(({ text }) => text).join(","), labels)).toBe(expected);
      }),
    );
  });

  it("never throws, whatever the text", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const selector = parseLabelSelector(text);
        expect(["undefined", "boolean"]).toContain(typeof selector?.({ a: "b" }));
      }),
    );
  });

  it.each([
    ["commas", ",".repeat(250_000)],
    ["opened sets", "a in (b,".repeat(30_000)],
    ["a long key", `${"a".repeat(250_000)}!`],
    ["blanks", `a${" ".repeat(250_000)}b`],
    ["a long prefix", `${"a.".repeat(125_000)}/b`],
  ])("parses a quarter megabyte of %s without delay", (_, text) => {
    const started = performance.now();
    expect(parseLabelSelector(text)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(500);
  });
});
