import { describe, expect, it } from "vitest";
import { judgeAudit } from "./judge.ts";

const url = "https://github.com/advisories/GHSA-1";
const reportOf = (severity: string) =>
  JSON.stringify({
    vulnerabilities: {
      parent: { via: ["child"] },
      child: { via: [{ url, severity, name: "child", title: "Reads too much" }] },
    },
  });

describe("known vulnerabilities", () => {
  it.each(["high", "critical"])("of level %s fail", (severity) => {
    expect(judgeAudit(reportOf(severity), {})).toEqual({
      isFine: false,
      message: `${severity}: child: Reads too much ${url}`,
    });
  });

  it("pass if they are allowed with a reason", () => {
    expect(judgeAudit(reportOf("high"), { [url]: "we never call it" }).isFine).toBe(true);
    expect(judgeAudit(reportOf("high"), { [url]: "" }).isFine).toBe(false);
  });

  it("pass if their severity is low", () => {
    expect(judgeAudit(reportOf("moderate"), {}).isFine).toBe(true);
  });

  it.each(["", "405 Method Not Allowed", '{"error":{"summary":"audit endpoint returned an error"}}'])(
    "are said to be unknown when the registry answers %j",
    (output) =>
      expect(judgeAudit(output, {})).toMatchObject({ isFine: true, message: expect.stringContaining("SKIPPED") }),
  );
});
