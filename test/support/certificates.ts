/** Certificates for tests: specs, states, API objects, and real key pairs. */
import type { V1Secret } from "@kubernetes/client-node";
import type { Certificate } from "../../controller/hcloud/api.ts";
import type { CertificatePlan } from "../../controller/render/certificate/plan.ts";
import { issueCertificate } from "../../dev-env/cloud/resources/self-signed.ts";
import type { CertificateContent, CertificateSpec, CertificateState } from "../../stacks/units/spec.ts";
import { UID } from "./builders.ts";

const DAY_MS = 86_400_000;

/** Before any time that tests use. */
const VALID_FROM = Date.UTC(2026, 0, 1);

/** A valid key pair; a different `serial` gives a different pair. */
export function aPair(
  given: { readonly domains?: readonly string[]; readonly serial?: number; readonly notAfter?: number } = {},
): { readonly certificate: string; readonly privateKey: string } {
  const { domains = ["example.com"], serial = 1, notAfter = Date.now() + 90 * DAY_MS } = given;
  return issueCertificate({ domainNames: domains, serial, notBefore: VALID_FROM, notAfter });
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

/** The plan of a Service without certificates. */
export const NO_CERTIFICATES: CertificatePlan = {
  ids: new Map(),
  wanted: [],
  owned: [],
  stale: [],
  problems: [],
  isUncertain: false,
};

/** An uploaded certificate as listed by the API, without an owner. */
export function aListedCertificate(given: Partial<Certificate> = {}): Certificate {
  return {
    id: 77,
    name: "certificate",
    labels: {},
    type: "uploaded",
    certificate: null,
    created: "2026-11-16T10:00:00+00:00",
    domain_names: ["example.com"],
    status: null,
    ...given,
  };
}

/** A managed certificate of `aService()` as listed by the API, with the name of the first one. */
export function anIssuedCertificate(
  issuance: "pending" | "completed" | "failed" = "completed",
  given: Partial<Certificate> = {},
): Certificate {
  const error = issuance === "failed" ? { code: "dns_zone_not_found", message: "no zone" } : null;
  const renewal = issuance === "completed" ? "scheduled" : "unavailable";
  return aListedCertificate({
    name: `ccm-managed-certificate-${UID}`,
    labels: { "hcloud-ccm/service-uid": UID },
    type: "managed",
    status: { issuance, renewal, error },
    ...given,
  });
}

/** Inputs for planning the certificates of a Service that has none. */
export const NO_LISTS = { certificates: [], loadBalancers: [], now: 0 } as const;

export function managed(...domains: readonly string[]): CertificateContent {
  return { type: "managed", domains, isStaging: false };
}

export function uploaded(fingerprint: string, pem = "PEM", chain?: string): CertificateContent {
  return { type: "uploaded", pem, fingerprint, ...(chain !== undefined && { chain }) };
}

/** The spec of a managed certificate of `aService()` for `example.com`. */
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

/** A state that matches `aCertificateSpec()`. */
export function aCertificateState(given: Partial<CertificateState> = {}): CertificateState {
  return { ...aCertificateSpec(), id: 77, ...given };
}
