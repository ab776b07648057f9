/** Where a listener's certificates come from, as its options say. */
import type { CertificateContent } from "../../../stacks/units/spec.ts";
import type { ServiceOptions } from "../service/options/annotations.ts";
import { managedContent } from "./listed.ts";

export type CertificateSource =
  /** A certificate of the project that somebody else looks after. */
  | { readonly kind: "listed"; readonly idOrName: string }
  /** One that is issued for the Service. The name is the user's, if there is one. */
  | { readonly kind: "managed"; readonly content: CertificateContent; readonly name?: string }
  /** One that is uploaded from a Secret. */
  | { readonly kind: "secret"; readonly name: string };

/** All that a port's options ask for. Certificates by id or name do not count beside a managed one (HCCM A23). */
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
