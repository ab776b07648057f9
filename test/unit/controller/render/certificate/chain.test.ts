import { describe, expect, it } from "vitest";
import { chainOf } from "../../../../../controller/render/certificate/chain.ts";

const block = (body: string, label = "CERTIFICATE") => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
const [LEAF, FIRST, SECOND] = [block("bGVhZg=="), block("Zmlyc3Q="), block("c2Vjb25k")];

describe("chainOf", () => {
  it.each([
    ["a single certificate", LEAF],
    ["the same certificate twice", LEAF + LEAF],
    ["a certificate and a key", LEAF + block("a2V5", "PRIVATE KEY")],
    ["text", "hello"],
    ["nothing", ""],
  ])("is undefined without a chain: %s", (_, pem) => {
    expect(chainOf(pem)).toBeUndefined();
  });

  // Names of certificates contain it, so it must not change: `printf leaf | sha256sum` and so on, one per line.
  it("is a hash of the certificates' hashes", () => {
    expect(chainOf(LEAF + FIRST)).toBe("00f3c1faf84f97b0553df6b80d973fafcfd46fe774750d487fe6f8c2f3ffc759");
  });

  it.each([
    ["no chain", LEAF],
    ["another intermediate", LEAF + SECOND],
    ["one more", LEAF + FIRST + SECOND],
    ["another certificate first", FIRST + LEAF],
  ])("differs with %s", (_, pem) => {
    expect(chainOf(pem)).not.toBe(chainOf(LEAF + FIRST));
  });

  it.each([
    ["line endings", (LEAF + FIRST + SECOND).replaceAll("\n", "\r\n")],
    ["blank lines", `\n${LEAF}\n\n${FIRST}\n${SECOND}\n\n`],
    ["no last line ending", (LEAF + FIRST + SECOND).trim()],
    ["other line lengths", LEAF.replace("bGVh", "bG\nVh") + FIRST + SECOND],
    ["comments", `subject=leaf\n${LEAF} 1 s:CN = first\n${FIRST}# second\n${SECOND}`],
    ["older labels", LEAF + block("Zmlyc3Q=", "X509 CERTIFICATE") + SECOND],
    ["another order of the intermediates", LEAF + SECOND + FIRST],
    ["repetitions", LEAF + FIRST + LEAF + SECOND + FIRST],
  ])("does not depend on the form of the text: %s", (_, pem) => {
    expect(chainOf(pem)).toBe(chainOf(LEAF + FIRST + SECOND));
  });

  it("is found in linear time", () => {
    const startedAt = performance.now();
    chainOf("-----BEGIN CERTIFICATE-----".repeat(2_500));
    expect(performance.now() - startedAt).toBeLessThan(100);
  });
});
