import { describe, expect, it } from "vitest";
import { type Report, renderJUnit, renderMarkdown } from "../../account/report.ts";
import type { StepResult } from "../../account/run.ts";

const aResult = (given: Partial<StepResult> = {}): StepResult => ({
  id: "tcp",
  title: "It works.",
  outcome: "passed",
  seconds: 1.5,
  calls: 3,
  ...given,
});
const aReport = (given: Partial<Report> = {}): Report => ({
  date: "2026-11-17T22:00:00Z",
  endpoint: "https://api.example.com/v1",
  version: "v1.2.3",
  results: [aResult()],
  seconds: 1.5,
  calls: { "GET /servers": 2, "POST /servers": 1 },
  differences: [],
  left: "",
  ...given,
});

describe("JUnit", () => {
  it("counts outcomes and adds up times", () => {
    const skipped = aResult({ id: "b", outcome: "skipped", seconds: 0, message: "needs a token" });
    const xml = renderJUnit("suite", [aResult(), skipped]);
    expect(xml).toContain('<testsuite name="suite" tests="2" failures="0" skipped="1" time="1.5">');
    expect(xml).toContain('<testcase classname="suite.tcp" name="It works." time="1.5"/>');
    expect(xml).toContain('<skipped message="needs a token"/>');
  });

  it("escapes messages, and shows all of their lines", () => {
    const xml = renderJUnit("suite", [aResult({ outcome: "failed", message: '1 < 2 & "x"\u0007\nEvent <a>' })]);
    expect(xml).toContain(
      '<failure message="1 &lt; 2 &amp; &quot;x&quot;">1 &lt; 2 &amp; &quot;x&quot;\nEvent &lt;a&gt;</failure>',
    );
  });
});

describe("Markdown", () => {
  it("says that nothing is left, and that there are no differences", () => {
    const page = renderMarkdown(aReport());
    expect(page).toContain("1 passed, 0 failed, 0 skipped in 2 s");
    expect(page).toContain("Afterwards, the project was empty.");
    expect(page).toContain("## API calls (3)");
    expect(page).toContain("None.");
  });

  it("keeps a message with lines and bars in its cell", () => {
    const page = renderMarkdown(aReport({ results: [aResult({ outcome: "failed", message: "a | b\nc" })] }));
    expect(page).toContain("| tcp | failed | 1.5 | 3 | a \\| b<br>c |");
  });

  it("names what is left, what differs, and why the list was not completed", () => {
    const page = renderMarkdown(aReport({ left: "server a (1)", differences: ["GET /x: y"], failure: "no API" }));
    for (const text of ["**Left in the project:** server a (1)", "- GET /x: y", "not completed:** no API"]) {
      expect(page).toContain(text);
    }
  });
});
