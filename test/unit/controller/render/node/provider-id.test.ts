import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cloudProviderId, parseProviderId } from "../../../../../controller/render/node/provider-id.ts";
import { hostileText } from "../../../../support/hostile.ts";

describe("ProviderIDs (HCCM N1, N2)", () => {
  it.each([
    { text: undefined, means: { kind: "none" } },
    { text: "", means: { kind: "none" } },
    { text: "hcloud://123", means: { kind: "cloud", id: 123 } },
    { text: "hrobot://45", means: { kind: "robot", number: 45 } },
    { text: "hcloud://bm-45", means: { kind: "robot", number: 45 } },
    { text: "hcloud://", means: { kind: "malformed", text: "hcloud://" } },
    { text: "hcloud://x", means: { kind: "malformed", text: "hcloud://x" } },
    { text: "hcloud:// 1", means: { kind: "malformed", text: "hcloud:// 1" } },
    { text: "hcloud://1\n", means: { kind: "malformed", text: "hcloud://1\n" } },
    { text: "hcloud://-1", means: { kind: "malformed", text: "hcloud://-1" } },
    { text: "hcloud://1.5", means: { kind: "malformed", text: "hcloud://1.5" } },
    { text: "hcloud://bm-", means: { kind: "malformed", text: "hcloud://bm-" } },
    { text: "hrobot://bm-1", means: { kind: "malformed", text: "hrobot://bm-1" } },
    { text: "hcloud:1", means: { kind: "foreign", text: "hcloud:1" } },
    { text: "HCLOUD://1", means: { kind: "foreign", text: "HCLOUD://1" } },
    { text: "k3s://node", means: { kind: "foreign", text: "k3s://node" } },
    { text: "aws:///eu-1/i-1", means: { kind: "foreign", text: "aws:///eu-1/i-1" } },
  ])("reads $text as $means.kind", ({ text, means }) => {
    expect(parseProviderId(text)).toEqual(means);
  });

  it("writes the format that existing nodes have", () => {
    expect(cloudProviderId(123)).toBe("hcloud://123");
  });

  it("reads every id it writes", () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (id) => {
        expect(parseProviderId(cloudProviderId(id))).toEqual({ kind: "cloud", id });
      }),
    );
  });

  it("never rounds an id to that of another server", () => {
    expect(parseProviderId("hcloud://9007199254740993")).toEqual({
      kind: "malformed",
      text: "hcloud://9007199254740993",
    });
  });

  it("reads every other text as malformed or foreign, and never throws", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(["none", "malformed", "foreign", "cloud", "robot"]).toContain(parseProviderId(text).kind);
        expect(parseProviderId(`hcloud://x${text}`).kind).toBe("malformed");
      }),
    );
  });
});
