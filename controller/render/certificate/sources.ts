/** Where a listener's certificates come from, according to its options. */
import type { CertificateContent } from "../../../stacks/units/spec.ts";
import type { ServiceOptions } from "../service/options/annotations.ts";
import { managedContent } from "./listed.ts";

/** One source of a certificate. */
export type CertificateSource =
  /** An existing certificate of the project that we do not manage. */
  | { readonly kind: "listed"; readonly idOrName: string }
  /** A certificate issued for the Service, with the name the user chose, if any. */
  | { readonly kind: "managed"; readonly content: CertificateContent; readonly name?: string }
  /** A certificate uploaded from a Secret. */
  | { readonly kind: "secret"; readonly name: string };

/** All sources of a port. Certificates by id or name are ignored beside a managed one (HCCM A23). */
export function sourcesOf(options: ServiceOptions): readonly CertificateSource[] {
  const secrets = (options.tlsSecrets ?? []).map((name) => ({ kind: "secret", name }) as const);
  if (options.certificateType !== "managed") {
    const listed = (options.certificates ?? []).map((idOrName) => ({ kind: "listed", idOrName }) as const);
    return [...listed, ...secrets];
  }
  const { managedDomains = [], managedStaging = false, managedName } = options;
  const content = managedContent(managedDomains, managedStaging);
  return [{ kind: "managed", content, ...(managedName && { name: managedName }) }, ...secrets];
}
