/** Routes of `/certificates`. */
import { refuse } from "../api/errors.ts";
import { commonRules, textFilter } from "../api/listing.ts";
import {
  actionReadRoutes,
  actionRoute,
  changed,
  claimName,
  deleteRoute,
  noBody,
  readRoutes,
  renameRoute,
  type StoredKind,
} from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { parseBody } from "../api/schema.ts";
import type { ActionStart } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { CertificateRecord } from "../state/records.ts";
import {
  checkUnused,
  createCertificateBody,
  issuanceError,
  managedDetails,
  uploadedDetails,
} from "./certificate-rules.ts";

/** Adds the users and removes the key. */
export function viewCertificate(project: Project, { private_key, ...row }: CertificateRecord) {
  const users = [...project.loadBalancers.idsWith(`certificate/${row.id}`)].sort((a, b) => a - b);
  return { ...row, used_by: users.map((id) => ({ id, type: "load_balancer" })) };
}

/** Certificates, for the generic routes. */
export const certificateKind: StoredKind<CertificateRecord, ReturnType<typeof viewCertificate>> = {
  singular: "certificate",
  rows: (project) => project.certificates,
  view: viewCertificate,
  rules: commonRules({ type: textFilter((row) => row.type) }),
};

/** The action of an issuance, which ends with the certificate or an error. */
function issuance(project: Project, row: CertificateRecord, command: string): ActionStart {
  const error = issuanceError(project, row);
  return {
    command,
    resources: [{ type: "certificate", id: row.id }],
    effect: { kind: "issue-certificate", certificate: row.id },
    ...(error ? { error } : {}),
  };
}

function create({ project, ...call }: Call): Answer {
  const body = parseBody(createCertificateBody, call.body);
  claimName(project.certificates, body.name);
  const isManaged = body.type === "managed";
  const details = isManaged ? managedDetails(project, body) : uploadedDetails(body);
  const row = project.certificates.put({ ...project.newResource(body.name, body.labels), ...details });
  const start = isManaged ? issuance(project, row, "create_certificate") : null;
  return changed(project, start, { certificate: viewCertificate(project, row) });
}

function retry(project: Project, row: CertificateRecord): ActionStart {
  if (row.status?.issuance !== "failed") {
    throw refuse("unsupported_error", "only failed issuances of managed certificates can be retried");
  }
  const pending = { issuance: "pending", renewal: "unavailable", error: null } as const;
  return issuance(project, project.certificates.put({ ...row, status: pending }), "issue_certificate");
}

/** All of `/certificates`. */
export const certificateRoutes: readonly Route[] = [
  ...readRoutes(certificateKind),
  ...actionReadRoutes(certificateKind),
  { method: "POST", path: "/certificates", handle: create },
  renameRoute(certificateKind),
  deleteRoute(certificateKind, (project, row) => {
    checkUnused(project, row);
    project.certificates.delete(row.id);
  }),
  actionRoute(certificateKind, { name: "retry", body: noBody, run: retry }),
];
