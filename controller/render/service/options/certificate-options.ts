/** Options for the certificates of https listeners. */

import { boolean, line, oneOf, type Parser } from "../../../formats/values.ts";
import { optionsOf } from "./option.ts";

const DOMAIN = /^(?=.{1,253}$)(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/i;
const OBJECT_NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LINE = /^(?=.{1,128}$)[^\p{C}]+$/u;

/** A comma-separated list. Spaces around items and empty items are ignored. */
function list(item: RegExp, most: number, what: string): Parser<readonly string[]> {
  return (input) => {
    const items = input.split(",", 1_000).flatMap((text) => text.trim() || []);
    return items.length <= most && items.every((text) => item.test(text))
      ? { value: [...new Set(items)] }
      : { allowed: `a comma-separated list of up to ${most} ${what}` };
  };
}

const certificates = optionsOf("certificates");

/** Rows by option name. */
export const CERTIFICATE_OPTIONS = {
  certificates: certificates("http-certificates", list(LINE, 50, "ids or names"), {
    unset: "none",
    doc: "Existing certificates of the project to present. Ignored if `certificate-type` is `managed`.",
  }),
  certificateType: certificates("certificate-type", oneOf("uploaded", "managed"), {
    unset: "`uploaded`",
    doc: "With `managed`, a certificate is issued, renewed and removed for this Service.",
  }),
  managedName: certificates("http-managed-certificate-name", line(100), {
    unset: "`ccm-managed-certificate-` and the Service's UID",
    doc: "Name of the managed certificate. Must not be the name of a certificate that does not belong to this Service.",
  }),
  managedDomains: certificates("http-managed-certificate-domains", list(DOMAIN, 100, "domain names"), {
    unset: "none; required for `managed`",
    doc: "Domains of the managed certificate. Their DNS zones must be hosted at Hetzner. After a change, the old certificate is presented until the new one is issued.",
  }),
  managedStaging: certificates("http-managed-certificate-acme-staging", boolean, {
    unset: "`false`",
    doc: "Issue the managed certificate from the ACME staging CA, for tests.",
  }),
  tlsSecrets: certificates("tls-secret", list(OBJECT_NAME, 25, "Secret names"), {
    unset: "none",
    doc: "Secrets of type `kubernetes.io/tls` in the Service's namespace. Their certificates are uploaded with their chains, and replaced when either changes. Requires `LOTSE_TLS_SECRETS`.",
  }),
} as const;
