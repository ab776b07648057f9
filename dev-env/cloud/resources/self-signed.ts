import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A certificate for managed issuance: no authority will vouch for it, but TLS works and the names are right. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** What goes into the certificate; times in milliseconds. */
export interface CertificateRequest {
  readonly domainNames: readonly string[];
  readonly serial: number;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Issues an ECDSA P-256 certificate with subject alternative names. Synchronous, which no package offers. */
export function issueCertificate(request: CertificateRequest): IssuedCertificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const body = certificateBody(request, publicKey);
  const signature = sign("sha256", body, privateKey);
  const der = sequence(body, ECDSA_WITH_SHA256, node(0x03, Buffer.from([0]), signature));
  return {
    certificate: pem("CERTIFICATE", der),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function certificateBody({ domainNames, serial, notBefore, notAfter }: CertificateRequest, key: KeyObject): Buffer {
  const subject = commonName(domainNames[0] ?? "localhost");
  const names = domainNames.map((name) => node(0x82, Buffer.from(name)));
  const extension = sequence(SUBJECT_ALT_NAME, node(0x04, sequence(...names)));
  return sequence(
    node(0xa0, integer(2)),
    integer(serial),
    ECDSA_WITH_SHA256,
    commonName("Lotse simulated CA"),
    sequence(time(notBefore), time(notAfter)),
    subject,
    key.export({ type: "spki", format: "der" }),
    node(0xa3, sequence(extension)),
  );
}

function node(tag: number, ...children: readonly Buffer[]): Buffer {
  const content = Buffer.concat(children);
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  if (size < 0x100) return Buffer.from([0x81, size]);
  return Buffer.from([0x82, size >> 8, size & 255]);
}

const sequence = (...children: readonly Buffer[]): Buffer => node(0x30, ...children);

function integer(value: number): Buffer {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, "hex");
  return node(0x02, (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]/g, "").slice(0, 14);
  return node(0x18, Buffer.from(`${digits}Z`));
}

const objectId = (...bytes: readonly number[]): Buffer => node(0x06, Buffer.from(bytes));
const ECDSA_WITH_SHA256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const SUBJECT_ALT_NAME = objectId(0x55, 0x1d, 0x11);
const COMMON_NAME = objectId(0x55, 0x04, 0x03);

function commonName(text: string): Buffer {
  return sequence(node(0x31, sequence(COMMON_NAME, node(0x0c, Buffer.from(text.slice(0, 64))))));
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
