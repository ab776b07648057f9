/** The certificate of the HTTPS port: from files, or self-signed. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SecureConfig } from "../config/config.ts";
import { ConfigError, messageOf } from "../diagnostics/errors.ts";
import { bits, element, explicit, octets, oid, sequence, set, text, time, unsigned } from "../formats/der.ts";

/** Certificate and private key, both as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;
/** Long, because no client verifies a self-signed certificate and it is never renewed. */
const VALID_DAYS = 3650;
/** Upstream's name for the files in --cert-dir. */
const PAIR = "cloud-controller-manager";

/** Loads or creates the certificate. Throws a ConfigError when its files cannot be read or written. */
export function loadKeyPair({ certFile, keyFile, certDir }: SecureConfig): KeyPair {
  try {
    if (certFile !== undefined && keyFile !== undefined) return readPair(certFile, keyFile);
    return certDir === undefined ? selfSigned("localhost") : pairIn(certDir);
  } catch (error) {
    throw new ConfigError([`certificate of --secure-port: ${messageOf(error)}`]);
  }
}

function pairIn(folder: string): KeyPair {
  const [cert, key] = [join(folder, `${PAIR}.crt`), join(folder, `${PAIR}.key`)];
  if (existsSync(cert) && existsSync(key)) return readPair(cert, key);
  const made = selfSigned("localhost");
  mkdirSync(folder, { recursive: true });
  writeFileSync(key, made.key, { mode: 0o600 });
  writeFileSync(cert, made.cert);
  return made;
}

function readPair(cert: string, key: string): KeyPair {
  return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

/** A self-signed certificate for a host name and the loopback address. */
export function selfSigned(host: string): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid("1.2.840.10045.4.3.2")); // ECDSA with SHA-256
  const name = sequence(set(sequence(oid("2.5.4.3"), text(host))));
  const hosts = sequence(element(0x82, Buffer.from(host)), element(0x87, Buffer.from([127, 0, 0, 1])));
  const now = Date.now();
  const body = sequence(
    explicit(0, unsigned(Buffer.from([2]))), // version 3
    unsigned(randomBytes(16)),
    algorithm,
    name,
    sequence(time(new Date(now - DAY_MS)), time(new Date(now + VALID_DAYS * DAY_MS))),
    name,
    publicKey.export({ format: "der", type: "spki" }),
    explicit(3, sequence(sequence(oid("2.5.29.17"), octets(hosts)))), // subject alternative names
  );
  const der = sequence(body, algorithm, bits(sign("sha256", body, privateKey)));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}
