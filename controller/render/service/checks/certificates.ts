/** Mistakes in what an https port is to present. */
import { type ListenerOptionName, PREFIX } from "../options/annotations.ts";
import { CERTIFICATE_OPTIONS } from "../options/certificate-options.ts";
import type { ServiceSettings, Settings } from "../options/settings.ts";
import type { Problem } from "./checks.ts";

/** Which certificates there are is not looked at here: they may come later. */
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
    refuse("certificateType", `${sources.certificateType}: needs ${PREFIX}http-managed-certificate-domains`);
  }
  if (protocol === "https" && !isManaged && certificates.length + tlsSecrets.length === 0 && !isUnread) {
    refuse(
      "protocol",
      `${sources.protocol}: https needs a certificate: set ${PREFIX}http-certificates, or ${PREFIX}certificate-type to managed, or ${PREFIX}tls-secret`,
    );
  }
  if (tlsSecrets.length > 0 && !readsSecrets) {
    refuse(
      "tlsSecrets",
      `${sources.tlsSecrets}: Secrets of this namespace are not read: LOTSE_TLS_SECRETS has to be true or to name it, and the right to list and watch them is needed`,
    );
  }
  return problems;
}

const NAMES = Object.keys(CERTIFICATE_OPTIONS) as (keyof typeof CERTIFICATE_OPTIONS)[];
