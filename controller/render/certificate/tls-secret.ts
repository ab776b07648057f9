/** A TLS Secret → its certificate and private key, or what is wrong with them. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { V1Secret } from "@kubernetes/client-node";
import { defined } from "../../../stacks/units/defined.ts";
import type { UploadedContent } from "../../../stacks/units/spec.ts";
import { chainOf } from "./chain.ts";

/** A certificate with its private key, which is sent nowhere but to the API. */
export interface TlsPair extends Omit<UploadedContent, "type"> {
  readonly privateKey: string;
}

/** The TLS Secrets of one namespace, or of all namespaces when `namespace` is absent. */
export interface SecretList {
  readonly namespace?: string;
  readonly secrets: readonly V1Secret[];
}

/** The content of a Secret, or a problem that quotes nothing of it. */
export type TlsContent = { readonly pair: TlsPair } | { readonly problem: string };

/** A parsed Secret, before the time is considered. */
type Parsed = { readonly pair: TlsPair; readonly certificate: X509Certificate } | { readonly problem: string };

const parsed = new WeakMap<V1Secret, Parsed>();
/** A chain of ten large certificates has a third of this. Longer texts would take too long to parse. */
const MAX_BYTES = 64 * 1024;

/**
 * Parses a Secret and checks that its certificate is valid at `now`, in milliseconds since 1970. Each object is parsed once,
 * however many ports of however many Services use it.
 */
export function parseTlsSecret(secret: V1Secret, now: number): TlsContent {
  const content = parsed.get(secret) ?? parse(secret);
  parsed.set(secret, content);
  if ("problem" in content) return content;
  const problem = outOfDate(content.certificate, now);
  return problem === undefined ? { pair: content.pair } : { problem };
}

function parse({ data = {} }: V1Secret): Parsed {
  const large = ["tls.crt", "tls.key"].find((key) => ((data[key]?.length ?? 0) * 3) / 4 > MAX_BYTES);
  if (large !== undefined) return { problem: `${large} is larger than ${MAX_BYTES / 1024} KiB` };
  const pem = decode(data["tls.crt"]);
  const privateKey = decode(data["tls.key"]);
  if (pem === "") return { problem: "it has no tls.crt" };
  if (privateKey === "") return { problem: "it has no tls.key" };
  const certificate = attempt(() => new X509Certificate(pem));
  if (!certificate) return { problem: "tls.crt is not a PEM certificate" };
  const key = attempt(() => createPrivateKey(privateKey));
  if (!key) return { problem: "tls.key is not a PEM private key, or is encrypted" };
  if (!certificate.checkPrivateKey(key)) return { problem: "tls.key does not match tls.crt" };
  const pair = { pem, privateKey, fingerprint: certificate.fingerprint256, ...defined({ chain: chainOf(pem) }) };
  return { pair, certificate };
}

function outOfDate({ validFromDate, validToDate }: X509Certificate, now: number): string | undefined {
  if (now >= validToDate.getTime()) return `its certificate expired on ${dayOf(validToDate)}`;
  return now < validFromDate.getTime() ? `its certificate is not valid before ${dayOf(validFromDate)}` : undefined;
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function decode(base64 = ""): string {
  return Buffer.from(base64, "base64").toString("utf8").trim();
}

/** Discards OpenSSL's error, which does not help users and may quote the text. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
