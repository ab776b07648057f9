/** Trusts additional certificate authorities, named by the variables that Go programs use. */
import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { ConfigError, messageOf } from "../diagnostics/errors.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Trusts the authorities in SSL_CERT_FILE and the directories of SSL_CERT_DIR, in addition to the default ones and those of
 * NODE_EXTRA_CA_CERTS. May be called repeatedly.
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
  try {
    for (const pem of found) new X509Certificate(pem); // one unparsable certificate would make Node reject all of them
  } catch (cause) {
    throw new Error(`${file} contains an unreadable certificate: ${messageOf(cause)}`, { cause });
  }
  return found;
}

/** Certificates in a directory, which may contain other files too. */
function inFolder(folder: string): readonly string[] {
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() || entry.isSymbolicLink(),
  );
  return files.flatMap(({ name }) => {
    try {
      return certificatesIn(join(folder, name));
    } catch {
      return []; // a key, or a link to a directory
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
