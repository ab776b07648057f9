import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parseTlsSecret } from "../../../../../controller/render/certificate/tls-secret.ts";
import { aPair, aTlsSecret } from "../../../../support/certificates.ts";

const NOW = Date.now();
const PAIR = aPair();
const OTHER = aPair({ serial: 2 });
const parse = (certificate: string, privateKey: string) =>
  parseTlsSecret(aTlsSecret("web", { certificate, privateKey }), NOW);

describe("a TLS Secret", () => {
  it("yields its certificate, fingerprint and private key", () => {
    const { fingerprint256 } = new X509Certificate(PAIR.certificate);
    const pair = { pem: PAIR.certificate.trim(), privateKey: PAIR.privateKey.trim(), fingerprint: fingerprint256 };
    expect(parse(PAIR.certificate, PAIR.privateKey)).toEqual({ pair });
  });

  it("has the fingerprint of its first certificate, whatever chain follows, and then identifies that chain as well", () => {
    const chained = parse(`${PAIR.certificate}${OTHER.certificate}`, PAIR.privateKey);
    expect(chained).toMatchObject({ pair: { fingerprint: new X509Certificate(PAIR.certificate).fingerprint256 } });
    expect(chained).toMatchObject({ pair: { chain: expect.stringMatching(/^[0-9a-f]{64}$/) } });
  });

  it.each([
    ["no certificate", "", PAIR.privateKey, "it has no tls.crt"],
    ["no key", PAIR.certificate, " ", "it has no tls.key"],
    ["text for a certificate", "hello", PAIR.privateKey, "tls.crt is not a PEM certificate"],
    ["a key for a certificate", PAIR.privateKey, PAIR.privateKey, "tls.crt is not a PEM certificate"],
    ["text for a key", PAIR.certificate, "hello", "tls.key is not a PEM private key"],
    ["a key with a passphrase", PAIR.certificate, protectedKey(), "is encrypted"],
    ["too large a certificate", "x".repeat(65_540), PAIR.privateKey, "tls.crt is larger than 64 KiB"],
    ["too large a key", PAIR.certificate, "x".repeat(65_540), "tls.key is larger than 64 KiB"],
    ["another's key", PAIR.certificate, OTHER.privateKey, "tls.key does not match tls.crt"],
  ])("reports what is wrong without quoting it: %s", (_, certificate, privateKey, problem) => {
    const parsed = parse(certificate, privateKey);
    expect(parsed).toEqual({ problem: expect.stringContaining(problem) });
    expect(JSON.stringify(parsed)).not.toMatch(/BEGIN|hello/);
  });

  it("is unusable without data", () => {
    expect(parseTlsSecret({}, NOW)).toEqual({ problem: "it has no tls.crt" });
  });

  it("is unusable before and after its validity", () => {
    const pair = aPair({ notAfter: Date.UTC(2026, 0, 31) });
    const secret = aTlsSecret("web", pair);
    expect(parseTlsSecret(secret, Date.UTC(2026, 0, 31))).toEqual({
      problem: "its certificate expired on 2026-01-31",
    });
    expect(parseTlsSecret(secret, 0)).toEqual({ problem: expect.stringContaining("is not valid before") });
  });
});

function protectedKey(): string {
  const { privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" },
  });
  return privateKey;
}
