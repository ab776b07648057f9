/** Certificates for managed certificates, signed by a throw-away authority. */
import { Authority, type Terms } from "../../cluster/certificates.ts";

/** A certificate with these names and its key, in PEM format. Clients do not trust it. */
export function issueCertificate({ domainNames, ...terms }: Terms & { readonly domainNames: readonly string[] }) {
  const commonName = (domainNames[0] ?? "localhost").slice(0, 64);
  const authority = new Authority("Lotse simulated CA");
  const { certificate, key } = authority.issue({ commonName }, { kind: "server", hosts: domainNames }, terms);
  return { certificate, privateKey: key };
}
