/** Certificates for tests: what is wanted, what the cloud lists, and real key pairs. */
import type { V1Secret } from "@kubernetes/client-node";
import { issueCertificate } from "../../dev-env/cloud/resources/self-signed.ts";
import type { CertificateContent, CertificateSpec, CertificateState } from "../../stacks/spec.ts";
import { UID } from "./builders.ts";

const DAY_MS = 86_400_000;

/** A pair that is valid now; a `serial` makes it another one. */
export function aPair(
  given: { readonly domains?: readonly string[]; readonly serial?: number; readonly notAfter?: number } = {},
): { readonly certificate: string; readonly privateKey: string } {
  const { domains = ["example.com"], serial = 1, notAfter = Date.now() + 90 * DAY_MS } = given;
  return issueCertificate({ domainNames: domains, serial, notBefore: Date.now() - DAY_MS, notAfter });
}

export function aTlsSecret(
  name: string,
  pair: { readonly certificate: string; readonly privateKey: string },
): V1Secret {
  const encode = (text: string) => Buffer.from(text).toString("base64");
  return {
    metadata: { namespace: "default", name, uid: `uid-of-${name}`, resourceVersion: "1" },
    type: "kubernetes.io/tls",
    data: { "tls.crt": encode(pair.certificate), "tls.key": encode(pair.privateKey) },
  };
}

export function managed(...domains: readonly string[]): CertificateContent {
  return { type: "managed", domains, isStaging: false };
}

export function uploaded(fingerprint: string, pem = "PEM"): CertificateContent {
  return { type: "uploaded", pem, fingerprint };
}

/** A certificate of `aService()`, managed and for `example.com`. */
export function aCertificateSpec(given: Partial<CertificateSpec> = {}): CertificateSpec {
  return {
    kind: "certificate",
    service: { namespace: "default", name: "web", uid: UID },
    name: `ccm-managed-certificate-${UID}`,
    labels: { "hcloud-ccm/service-uid": UID },
    content: managed("example.com"),
    ...given,
  };
}

/** What exists of `aCertificateSpec()`, equal to it in every field. */
export function aCertificateState(given: Partial<CertificateState> = {}): CertificateState {
  return { ...aCertificateSpec(), id: 77, ...given };
}
