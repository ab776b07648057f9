/** Identifies a certificate together with its chain, regardless of how the PEM text is formatted. */
import { createHash } from "node:crypto";

const BEGIN = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;

/**
 * Hash of all certificates in a PEM text; undefined when there is only one. Names contain it: it must not change. Text
 * around the certificates, repetitions and the order of those after the first do not matter: the API may list a
 * certificate in another form than it was uploaded, which must not look like new content.
 */
export function chainOf(pem: string): string | undefined {
  const bodies = pem.split(BEGIN).slice(1);
  const [first = "", ...others] = bodies.map((body) =>
    hashOf(Buffer.from(body.split("-----END", 1)[0] ?? "", "base64")),
  );
  const chain = new Set(others.filter((other) => other !== first));
  return chain.size === 0 ? undefined : hashOf([first, ...[...chain].toSorted()].join("\n"));
}

function hashOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
