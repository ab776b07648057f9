/** Mistakes in the certificate options of ports. */
import { type ListenerOptionName, PREFIX } from "../options/annotations.ts";
import { CERTIFICATE_OPTIONS } from "../options/certificate-options.ts";
import type { ServiceSettings, Settings } from "../options/settings.ts";
import type { Problem } from "./checks.ts";

/** Problems of all ports. Whether the certificates exist is not checked here: they may be created later. */
export function certificateProblems({ ports }: ServiceSettings, readsSecrets: boolean): readonly Problem[] {
  return [...ports].flatMap(([port, own]) => problemsOf(port, own, readsSecrets));
}

function problemsOf(port: number, { options, sources, broken }: Settings, readsSecrets: boolean): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (name: ListenerOptionName, message: string) => problems.push({ port, message, options: [name] });
  const { protocol, certificateType, certificates = [], managedDomains = [], tlsSecrets = [] } = options;
  const isManaged = certificateType === "managed";
  const isUnread = NAMES.some((name) => broken.has(name));
  if (isManaged && managedDomains.length === 0 && !isUnread) {
    refuse("certificateType", `${sources.certificateType}: managed requires ${PREFIX}http-managed-certificate-domains`);
  }
  if (protocol === "https" && !isManaged && certificates.length + tlsSecrets.length === 0 && !isUnread) {
    refuse(
      "protocol",
      `${sources.protocol}: https requires a certificate: set ${PREFIX}http-certificates, ${PREFIX}certificate-type to managed, or ${PREFIX}tls-secret`,
    );
  }
  if (tlsSecrets.length > 0 && !readsSecrets) {
    refuse(
      "tlsSecrets",
      `${sources.tlsSecrets}: Secrets in this namespace are not read: set LOTSE_TLS_SECRETS to true or add the namespace to it, and allow the controller to list and watch Secrets`,
    );
  }
  return problems;
}

const NAMES = Object.keys(CERTIFICATE_OPTIONS) as (keyof typeof CERTIFICATE_OPTIONS)[];
