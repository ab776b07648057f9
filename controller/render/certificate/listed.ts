/** Listed certificates: their content, and how far issuance and renewal have come. */
import { X509Certificate } from "node:crypto";
import { defined } from "../../../stacks/units/defined.ts";
import type { CertificateContent, CertificateState, ServiceRef } from "../../../stacks/units/spec.ts";
import type { Certificate } from "../../hcloud/api.ts";
import { chainOf } from "./chain.ts";

/** Label that makes Hetzner use the ACME staging CA; shared with the official controller (HCCM A27). */
export const STAGING_LABEL = "HC-Use-Staging-CA";

/** A listed certificate as state, comparable with a spec. */
export function certificateState(certificate: Certificate, service: ServiceRef): CertificateState {
  const { id, name, labels } = certificate;
  return { kind: "certificate", service, id, name, labels, content: contentOf(certificate) };
}

function contentOf({ type, certificate, domain_names, labels }: Certificate): CertificateContent {
  if (type === "managed") return managedContent(domain_names, labels[STAGING_LABEL] === "true");
  const pem = certificate ?? "";
  return { type: "uploaded", pem, fingerprint: fingerprintOf(pem), ...defined({ chain: chainOf(pem) }) };
}

/** Content of a managed certificate. Order and case of the domains do not matter. */
export function managedContent(domains: readonly string[], isStaging: boolean): CertificateContent {
  return { type: "managed", domains: [...new Set(domains.map((name) => name.toLowerCase()))].sort(), isStaging };
}

/** SHA-256 of the first certificate in a PEM text; empty when it cannot be parsed. */
function fingerprintOf(pem: string): string {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    return ""; // the API accepted it, but it can equal none of ours
  }
}

/** How far the issuance of a certificate has come. Uploaded certificates count as issued. */
export type Issuance = { readonly kind: "issued" | "pending" } | { readonly kind: "failed"; readonly reason: string };

/** The issuance of a listed certificate. */
export function issuanceOf({ status }: Certificate): Issuance {
  if (!status || status.issuance === "completed") return { kind: "issued" };
  if (status.issuance === "pending") return { kind: "pending" };
  return { kind: "failed", reason: reasonOf(status) };
}

/** Why the renewal of an issued certificate failed; undefined when it did not. */
export function renewalProblem({ name, status }: Certificate): string | undefined {
  if (status?.issuance !== "completed" || status.renewal !== "failed") return undefined;
  return `certificate "${name}" could not be renewed: ${reasonOf(status)}`;
}

function reasonOf({ error }: NonNullable<Certificate["status"]>): string {
  return error ? `${error.message} (${error.code})` : "no reason given";
}
