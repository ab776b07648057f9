import { describe, expect, test } from "vitest";
import { labels, parseSelector, requiredLabelKey } from "../../../../dev-env/cloud/api/labels.ts";
import { parseBody } from "../../../../dev-env/cloud/api/schema.ts";

const web = { type: "web", env: "prod", empty: "" };

describe("label selectors", () => {
  test.each([
    ["type=web", true],
    ["type==web", true],
    ["type = web , env = prod", true],
    ["type=db", false],
    ["type!=db", true],
    ["type!=web", false],
    ["missing!=x", true],
    ["type", true],
    ["missing", false],
    ["!missing", true],
    ["!type", false],
    ["type in (db,web)", true],
    ["type in (db)", false],
    ["missing in (db)", false],
    ["type notin (db)", true],
    ["type notin (web, db)", false],
    ["missing notin (db)", true],
    ["empty=", true],
    ["type in (db,web),env notin (dev),!missing", true],
    ["hcloud-ccm/service-uid=1", false],
  ])("%s selects a web server: %s", (selector, isSelected) => {
    expect(parseSelector(selector)?.(web)).toBe(isSelected);
  });

  test.each(["", "=", "a=b,,c", "a===b", "a in b", "a in (b", "!", "a b", "a=b c", "in (a)", "-a=b", "a=-b"])(
    "%o is no selector",
    (selector) => expect(parseSelector(selector)).toBeUndefined(),
  );

  test("a required label narrows the search, an excluded one does not", () => {
    expect(requiredLabelKey("!x,a!=b,role==web")).toBe("label/role=web");
    expect(requiredLabelKey("a!=b,c in (d)")).toBeUndefined();
  });
});

describe("labels", () => {
  test.each([
    [{ a: "b" }, true],
    [{ "example.com/a_b.c-d": "" }, true],
    [{ "hcloud-ccm/service-uid": "x" }, true],
    [{ ["x".repeat(63)]: "y".repeat(63) }, true],
    [{ ["x".repeat(64)]: "" }, false],
    [{ a: "y".repeat(64) }, false],
    [{ "-a": "b" }, false],
    [{ a: "b-" }, false],
    [{ "hetzner.cloud/a": "b" }, false],
    [{ "UPPER.example/a": "b" }, false],
    [{ a: 1 }, false],
    [["a"], false],
  ])("%o is accepted: %s", (value, isFine) => {
    const parse = () => parseBody(labels, value);
    if (isFine) expect(parse()).toEqual(value);
    else expect(parse).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });
});
