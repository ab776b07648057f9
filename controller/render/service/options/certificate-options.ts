/** Options that say which certificates an https listener presents. */

import { boolean, line, oneOf, type Parser } from "../../../formats/values.ts";
import { option } from "./option.ts";

const DOMAIN = /^(?=.{1,253}$)(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/i;
const OBJECT_NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LINE = /^(?=.{1,128}$)[^\p{C}]+$/u;

/** Items between commas; blanks around them do not count, nor do empty ones. */
function list(item: RegExp, most: number, what: string): Parser<readonly string[]> {
  return (input) => {
    const items = input.split(",", 1_000).flatMap((text) => text.trim() || []);
    return items.length <= most && items.every((text) => item.test(text))
      ? { value: [...new Set(items)] }
      : { allowed: `up to ${most} ${what}, separated by commas` };
  };
}

export const CERTIFICATE_OPTIONS = {
  certificates: option({
    annotation: "http-certificates",
    group: "certificates",
    parse: list(LINE, 50, "ids or names"),
    unset: "none",
    doc: "Certificates of the project that https presents. Not read when `certificate-type` is `managed`.",
  }),
  certificateType: option({
    annotation: "certificate-type",
    group: "certificates",
    parse: oneOf("uploaded", "managed"),
    unset: "`uploaded`",
    doc: "With `managed` a certificate is issued, renewed and removed for this Service.",
  }),
  managedName: option({
    annotation: "http-managed-certificate-name",
    group: "certificates",
    parse: line(100),
    unset: "`ccm-managed-certificate-` and the Service's uid",
    doc: "Name of that certificate. The name of somebody else's certificate cannot be used.",
  }),
  managedDomains: option({
    annotation: "http-managed-certificate-domains",
    group: "certificates",
    parse: list(DOMAIN, 100, "domain names"),
    unset: "none: needed for `managed`",
    doc: "Domains it is for; their DNS zones must be at Hetzner. When they change, https goes on with the old certificate until the new one is issued.",
  }),
  managedStaging: option({
    annotation: "http-managed-certificate-acme-staging",
    group: "certificates",
    parse: boolean,
    unset: "`false`",
    doc: "Let it be issued by the authority that is for tests.",
  }),
  tlsSecrets: option({
    annotation: "tls-secret",
    group: "certificates",
    parse: list(OBJECT_NAME, 25, "names of Secrets"),
    unset: "none",
    doc: "Secrets of type `kubernetes.io/tls` in the Service's namespace. They are uploaded, and followed when they are renewed. Needs `LOTSE_TLS_SECRETS=true`.",
  }),
} as const;
