/** The certificates among all listed ones that were created for a Service. */
import { certificateUnit, SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { CertificateSpec, CertificateState, ServiceRef, UnitId } from "../../../stacks/units/spec.ts";
import { isReleasedBy, releasedMarks } from "../../formats/marks.ts";
import type { Certificate, LoadBalancer } from "../../hcloud/api.ts";
import { certificateState, issuanceOf } from "./listed.ts";

/** The cloud's lists at the time `now`, in milliseconds since 1970. */
export interface CertificateLists {
  readonly certificates: readonly Certificate[];
  readonly loadBalancers: readonly LoadBalancer[];
  readonly now: number;
}

/** A certificate that carries the Service's label. */
export interface OwnedCertificate {
  readonly unit: UnitId;
  readonly state: CertificateState;
  readonly listed: Certificate;
  /** Whether any load balancer presents it, so that it cannot be removed. */
  readonly isUsed: boolean;
  /** Whether its issuance failed long enough ago for a retry. */
  readonly isSpent: boolean;
}

/**
 * A failed issuance is retried after this long by recreating the certificate, because the API has no retry. The CA
 * allows five failures an hour, and the API twenty certificates.
 */
const RETRY_MS = 30 * 60_000;

/**
 * All certificates of a Service, each with its unit. Of several with the same content, one represents the unit:
 * preferably one in use, then an issued one, then the oldest. The others, and spent ones, are copies with units of
 * their own.
 */
export function ownedCertificates(service: ServiceRef, lists: CertificateLists): readonly OwnedCertificate[] {
  return gather(service, lists, ({ labels }) => labels[SERVICE_UID_LABEL] === service.uid);
}

/** Certificates that the Service, or an earlier one of its name, left behind without an owner: it may take them back. */
export function leftCertificates(service: ServiceRef, lists: CertificateLists): readonly OwnedCertificate[] {
  const isLeft = ({ labels }: Certificate) => isReleasedBy(labels, service) && labels[SERVICE_UID_LABEL] === undefined;
  return gather(service, lists, isLeft).filter(({ isSpent }) => !isSpent);
}

/** The spec of a certificate that is released: unchanged, but without an owner. */
export function leaveCertificate({ kind, service, name, labels, content }: CertificateState): CertificateSpec {
  const { [SERVICE_UID_LABEL]: _, ...others } = labels;
  return { kind, service, name, labels: { ...others, ...releasedMarks(service) }, content };
}

function gather(service: ServiceRef, lists: CertificateLists, isMeant: (certificate: Certificate) => boolean) {
  const used = presentedOn(lists.loadBalancers);
  const taken = new Set<UnitId>();
  return lists.certificates
    .filter(isMeant)
    .map((listed) => {
      const isUsed = used.has(listed.id);
      const isSpent = !isUsed && hasFailedBefore(listed, lists.now - RETRY_MS);
      return { state: certificateState(listed, service), listed, isUsed, isSpent };
    })
    .toSorted((a, b) => rank(a) - rank(b) || a.listed.id - b.listed.id)
    .map((owned) => {
      const unit = certificateUnit(owned.state);
      const isCopy = owned.isSpent || taken.has(unit);
      taken.add(unit);
      return { ...owned, unit: isCopy ? certificateUnit(owned.state, owned.listed.id) : unit };
    });
}

const presented = new WeakMap<readonly LoadBalancer[], ReadonlySet<number>>();

/** Ids of the certificates that load balancers present. Collected once per list, because every Service asks. */
function presentedOn(loadBalancers: readonly LoadBalancer[]): ReadonlySet<number> {
  const ids =
    presented.get(loadBalancers) ??
    new Set(loadBalancers.flatMap(({ services }) => services).flatMap(({ http }) => http?.certificates ?? []));
  presented.set(loadBalancers, ids);
  return ids;
}

function hasFailedBefore(listed: Certificate, time: number): boolean {
  return issuanceOf(listed).kind === "failed" && Date.parse(listed.created) < time;
}

function rank({ isUsed, listed, isSpent }: Omit<OwnedCertificate, "unit">): number {
  if (isSpent) return 3;
  return isUsed ? 0 : issuanceOf(listed).kind === "issued" ? 1 : 2;
}
