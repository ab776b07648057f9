/** A certificate authority for test clusters. */
import { generateKeyPairSync, type KeyObject, randomInt, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import {
  bits,
  element,
  explicit,
  octets,
  oid,
  sequence,
  set,
  text,
  time,
  unsigned,
  yes,
} from "../../controller/formats/der.ts";

/** A certificate and its private key, in PEM format. */
export interface Credential {
  readonly certificate: string;
  readonly key: string;
}

/** The subject of a certificate. For the API server, the common name is the user and the organisations are groups. */
export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

/**
 * The purpose of a certificate: authentication of a client, or of a server with these IPv4 addresses and host names.
 */
export type Usage = { readonly kind: "client" } | { readonly kind: "server"; readonly hosts: readonly string[] };

/** Serial number and validity; times in milliseconds. */
export interface Terms {
  readonly serial: number;
  readonly notBefore: number;
  readonly notAfter: number;
}

const validityDays = 30;
const dayMs = 86_400_000;

const oids = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  extendedKeyUsage: "2.5.29.37",
  server: "1.3.6.1.5.5.7.3.1",
  client: "1.3.6.1.5.5.7.3.2",
} as const;

interface Content {
  readonly subject: Subject;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly terms: Terms;
}

/** A certificate authority. Issuing a certificate takes about a millisecond. */
export class Authority {
  readonly #subject: Subject;
  readonly #key: KeyObject;
  /** Its own certificate, in PEM format. */
  readonly certificate: string;

  constructor(name: string) {
    const { privateKey, publicKey } = newKeyPair();
    this.#subject = { commonName: name };
    this.#key = privateKey;
    const extensions = [
      extension(oids.basicConstraints, sequence(yes()), true),
      // keyCertSign is bit 5, so two bits of the byte are unused.
      extension(oids.keyUsage, bits(Buffer.from([0b0000_0100]), 2), true),
    ];
    this.certificate = this.#sign({ subject: this.#subject, publicKey, extensions, terms: freshTerms() });
  }

  /** Generates a key and a certificate for it, valid for a month by default. */
  issue(subject: Subject, usage: Usage, terms = freshTerms()): Credential {
    const { privateKey, publicKey } = newKeyPair();
    const extensions = [extension(oids.extendedKeyUsage, sequence(oid(oids[usage.kind])))];
    if (usage.kind === "server") {
      extensions.push(extension(oids.subjectAltName, sequence(...usage.hosts.map(alternativeName))));
    }
    const certificate = this.#sign({ subject, publicKey, extensions, terms });
    return { certificate, key: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
  }

  #sign({ subject, publicKey, extensions, terms }: Content): string {
    const algorithm = sequence(oid(oids.ecdsaWithSha256));
    const serial = Buffer.alloc(8);
    serial.writeBigUInt64BE(BigInt(terms.serial));
    const body = sequence(
      explicit(0, unsigned(Buffer.from([2]))), // version 3
      unsigned(serial),
      algorithm,
      renderName(this.#subject),
      sequence(time(new Date(terms.notBefore)), time(new Date(terms.notAfter))),
      renderName(subject),
      publicKey.export({ format: "der", type: "spki" }),
      explicit(3, sequence(...extensions)),
    );
    const signature = sign("sha256", body, this.#key);
    const der = sequence(body, algorithm, bits(signature));
    const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
  }
}

/** A private key for service account tokens, in the PEM variant that the API server can also read as public key. */
export function newSigningKey(): string {
  return newKeyPair().privateKey.export({ format: "pem", type: "sec1" }).toString();
}

const newKeyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Valid from yesterday, to tolerate clocks that differ. */
function freshTerms(): Terms {
  const now = Date.now();
  return { serial: randomInt(2 ** 47), notBefore: now - dayMs, notAfter: now + validityDays * dayMs };
}

function renderName({ commonName, organizations = [] }: Subject): Buffer {
  const part = (type: string, value: string) => set(sequence(oid(type), text(value)));
  return sequence(
    ...organizations.map((organization) => part(oids.organization, organization)),
    part(oids.commonName, commonName),
  );
}

function extension(type: string, value: Buffer, isCritical = false): Buffer {
  return sequence(oid(type), ...(isCritical ? [yes()] : []), octets(value));
}

function alternativeName(host: string): Buffer {
  return isIPv4(host) ? element(0x87, Buffer.from(host.split(".").map(Number))) : element(0x82, Buffer.from(host));
}
