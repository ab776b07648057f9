/** A TLS Secret → the certificate in it and its key, or what is wrong with them. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { V1Secret } from "@kubernetes/client-node";

/** A certificate with its private key. The key goes nowhere but to the API. */
export interface TlsPair {
  readonly pem: string;
  /** SHA-256 of the certificate itself. */
  readonly fingerprint: string;
  readonly privateKey: string;
}

/** The TLS Secrets of one namespace, or of all of them when none is named. */
export interface SecretList {
  readonly namespace?: string;
  readonly secrets: readonly V1Secret[];
}

/** What a Secret holds; the problem is in words that hold nothing of it. */
export type TlsContent = { readonly pair: TlsPair } | { readonly problem: string };

/** Reads a Secret as it would have to be presented at the time `now`, in milliseconds. */
export function parseTlsSecret({ data = {} }: V1Secret, now: number): TlsContent {
  const pem = decode(data["tls.crt"]);
  const privateKey = decode(data["tls.key"]);
  if (pem === "") return { problem: "it has no tls.crt" };
  if (privateKey === "") return { problem: "it has no tls.key" };
  const certificate = attempt(() => new X509Certificate(pem));
  if (!certificate) return { problem: "tls.crt is not a certificate in PEM form" };
  const key = attempt(() => createPrivateKey(privateKey));
  if (!key) return { problem: "tls.key is not a private key in PEM form, or is protected by a passphrase" };
  if (!certificate.checkPrivateKey(key)) return { problem: "tls.key does not belong to tls.crt" };
  const problem = outOfDate(certificate, now);
  return problem === undefined ? { pair: { pem, privateKey, fingerprint: certificate.fingerprint256 } } : { problem };
}

function outOfDate({ validFromDate, validToDate }: X509Certificate, now: number): string | undefined {
  if (now >= validToDate.getTime()) return `its certificate has expired on ${dayOf(validToDate)}`;
  return now < validFromDate.getTime() ? `its certificate is not valid before ${dayOf(validFromDate)}` : undefined;
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function decode(base64 = ""): string {
  return Buffer.from(base64, "base64").toString("utf8").trim();
}

/** What OpenSSL dislikes about a text is not for users, and may quote from it. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
