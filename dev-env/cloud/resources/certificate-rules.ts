/** Rules for creating, issuing and deleting certificates. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { invalidField, limitExceeded, refuse } from "../api/errors.ts";
import { name } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { array, type Checked, object, oneOf, optional, string } from "../api/schema.ts";
import type { ActionError } from "../state/actions.ts";
import { renderTime } from "../state/clock.ts";
import type { Project } from "../state/project.ts";
import type { CertificateRecord, Resource } from "../state/records.ts";
import { issueCertificate } from "./self-signed.ts";

const HOUR_MS = 3_600_000;
const VALIDITY_MS = 90 * 24 * HOUR_MS;
const MANAGED_PER_HOUR = 20;
const DOMAIN = /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;

/** Body of `POST /certificates`. The required fields depend on the type. */
export const createCertificateBody = object({
  name,
  type: optional(oneOf("uploaded", "managed")),
  certificate: optional(string({ min: 1 })),
  private_key: optional(string({ min: 1 })),
  domain_names: optional(array(string({ max: 253, pattern: DOMAIN }), 100)),
  labels: optional(labels),
});

type CreateCertificate = Checked<typeof createCertificateBody>;
type Details = Omit<CertificateRecord, keyof Resource>;

/** Parses the PEM text. Throws if key and certificate do not match. */
export function uploadedDetails({ certificate, private_key }: CreateCertificate): Details {
  if (certificate === undefined) throw invalidField("certificate", "Missing data for required field.");
  if (private_key === undefined) throw invalidField("private_key", "Missing data for required field.");
  const leaf = parseOr(() => new X509Certificate(certificate), "certificate", "Must be a PEM encoded certificate.");
  const key = parseOr(() => createPrivateKey(private_key), "private_key", "Must be a PEM encoded private key.");
  if (!leaf.checkPrivateKey(key)) throw invalidField("private_key", "Does not belong to the certificate.");
  return { type: "uploaded", private_key, status: null, ...shownOf(certificate, leaf) };
}

function shownOf(certificate: string, leaf: X509Certificate) {
  const names = (leaf.subjectAltName ?? "").match(/(?<=DNS:)[^,\s]+/g) ?? [];
  const commonName = /CN=(.+)/.exec(leaf.subject)?.[1];
  return {
    certificate,
    not_valid_before: renderTime(Date.parse(leaf.validFrom)),
    not_valid_after: renderTime(Date.parse(leaf.validTo)),
    domain_names: names.length > 0 || commonName === undefined ? names : [commonName],
    fingerprint: leaf.fingerprint256,
  };
}

function parseOr<T>(parse: () => T, field: string, message: string): T {
  try {
    return parse();
  } catch {
    // The API reports the field as invalid, without the details of OpenSSL.
    throw invalidField(field, message);
  }
}

/** A managed certificate before issuance has names only. */
export function managedDetails(project: Project, { domain_names = [] }: CreateCertificate): Details {
  if (domain_names.length === 0) throw invalidField("domain_names", "Missing data for required field.");
  const hourAgo = renderTime(project.clock.now() - HOUR_MS);
  const recent = [...project.certificates.values()].filter((row) => row.type === "managed" && row.created > hourAgo);
  if (recent.length >= MANAGED_PER_HOUR) {
    throw limitExceeded("managed_certificates", "cannot create more than 20 managed certificates per hour");
  }
  return {
    type: "managed",
    certificate: null,
    private_key: null,
    not_valid_before: null,
    not_valid_after: null,
    domain_names,
    fingerprint: null,
    status: { issuance: "pending", renewal: "unavailable", error: null },
  };
}

/** The error of the issuance, for names in the failing domain. */
export function issuanceError(project: Project, { domain_names }: CertificateRecord): ActionError | undefined {
  const { failingDomain } = project.behaviour;
  const bad = domain_names.find((domain) => domain === failingDomain || domain.endsWith(`.${failingDomain}`));
  return bad === undefined
    ? undefined
    : { code: "dns_zone_not_found", message: `no DNS zone found for domain name ${bad}` };
}

/** The certificate after its issuance has succeeded or failed. */
export function finishIssuance(project: Project, row: CertificateRecord, error: ActionError | null): CertificateRecord {
  if (error) return { ...row, status: { issuance: "failed", renewal: "unavailable", error } };
  const now = project.clock.now();
  const { certificate, privateKey } = issueCertificate({
    domainNames: row.domain_names,
    serial: row.id,
    notBefore: now,
    notAfter: now + VALIDITY_MS,
  });
  return {
    ...row,
    ...shownOf(certificate, new X509Certificate(certificate)),
    private_key: privateKey,
    status: { issuance: "completed", renewal: "scheduled", error: null },
  };
}

/** Throws if a load balancer uses the certificate. */
export function checkUnused(project: Project, row: CertificateRecord): void {
  if (project.loadBalancers.idsWith(`certificate/${row.id}`).size > 0) {
    throw refuse("resource_in_use", "certificate still in use");
  }
}
