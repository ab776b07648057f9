/** Trusts further authorities, named by the variables that Go programs read. */
import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { ConfigError, messageOf } from "../diagnostics/errors.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Trusts what SSL_CERT_FILE and the folders of SSL_CERT_DIR hold besides the usual authorities and those of NODE_EXTRA_CA_CERTS.
 * May be called again.
 */
export function trustAuthorities({ SSL_CERT_FILE: file, SSL_CERT_DIR: folders }: NodeJS.ProcessEnv): void {
  const named = [
    ...(file ? attempt("SSL_CERT_FILE", () => certificatesIn(file)) : []),
    ...(folders?.split(delimiter) ?? [])
      .filter(Boolean)
      .flatMap((folder) => attempt("SSL_CERT_DIR", () => inFolder(folder))),
  ];
  if (named.length === 0) return;
  setDefaultCACertificates([...getCACertificates("default"), ...named]);
}

function certificatesIn(file: string): readonly string[] {
  const found = readFileSync(file, "utf8").match(CERTIFICATE);
  if (!found) throw new Error(`${file} contains no certificate`);
  for (const pem of found) readable(pem, file);
  return found;
}

/** What cannot be read would make all of them useless. */
function readable(pem: string, file: string): void {
  try {
    new X509Certificate(pem);
  } catch (cause) {
    throw new Error(`${file} contains an unreadable certificate: ${messageOf(cause)}`, { cause });
  }
}

/** A folder may hold other things beside certificates. */
function inFolder(folder: string): readonly string[] {
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() || entry.isSymbolicLink(),
  );
  return files.flatMap(({ name }) => {
    try {
      return certificatesIn(join(folder, name));
    } catch {
      return []; // a key, a link to a folder: not for us
    }
  });
}

function attempt<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new ConfigError([`${variable}: ${messageOf(error)}`]);
  }
}
