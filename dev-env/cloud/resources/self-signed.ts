import { Authority, type Terms } from "../../cluster/certificates.ts";

/** A certificate and its key as PEM: no authority vouches for it, but TLS works and the names are right. */
export function issueCertificate({ domainNames, ...terms }: Terms & { readonly domainNames: readonly string[] }) {
  const commonName = (domainNames[0] ?? "localhost").slice(0, 64);
  const authority = new Authority("Lotse simulated CA");
  const { certificate, key } = authority.issue({ commonName }, { kind: "server", hosts: domainNames }, terms);
  return { certificate, privateKey: key };
}
