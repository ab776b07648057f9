/** The certificates that were made for a Service, among all that the cloud lists. */
import { certificateUnit, SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { CertificateSpec, CertificateState, ServiceRef, UnitId } from "../../../stacks/units/spec.ts";
import { RELEASED_MARK } from "../../formats/marks.ts";
import type { Certificate, LoadBalancer } from "../../hcloud/api.ts";
import { certificateState, issuanceOf } from "./listed.ts";

/** What the cloud lists, at the time `now`, in milliseconds. */
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
  /** Whether any balancer presents it: then it cannot be removed. */
  readonly isUsed: boolean;
  /** True for one whose issuance failed so long ago that it makes room for another try. */
  readonly isSpent: boolean;
}

/**
 * A failed issuance is tried again after this long, by making the certificate anew: the provider knows no retry. The
 * authority allows five failures an hour, and the API twenty certificates.
 */
const RETRY_MS = 30 * 60_000;

/**
 * All of a Service's certificates, each with its unit. Of several with the same content one stands for their unit: one in
 * use rather than not, then an issued one, then the oldest. The others, and spent ones, are copies.
 */
export function ownedCertificates(service: ServiceRef, lists: CertificateLists): readonly OwnedCertificate[] {
  return gather(service, lists, ({ labels }) => labels[SERVICE_UID_LABEL] === service.uid);
}

/** Those that a Service has left behind and that nobody took since: it may have them back. */
export function leftCertificates(service: ServiceRef, lists: CertificateLists): readonly OwnedCertificate[] {
  const isLeft = ({ labels }: Certificate) =>
    labels[RELEASED_MARK] === service.uid && labels[SERVICE_UID_LABEL] === undefined;
  return gather(service, lists, isLeft).filter(({ isSpent }) => !isSpent);
}

/** What a certificate becomes that outlives the intent for it: the same, without owner. */
export function leaveCertificate({ kind, service, name, labels, content }: CertificateState): CertificateSpec {
  const { [SERVICE_UID_LABEL]: _, ...others } = labels;
  return { kind, service, name, labels: { ...others, [RELEASED_MARK]: service.uid }, content };
}

function gather(
  service: ServiceRef,
  lists: CertificateLists,
  isMeant: (certificate: Certificate) => boolean,
): readonly OwnedCertificate[] {
  const used = new Set(lists.loadBalancers.flatMap(certificatesOn));
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

function certificatesOn({ services }: LoadBalancer): readonly number[] {
  return services.flatMap(({ http }) => http?.certificates ?? []);
}

function hasFailedBefore(listed: Certificate, time: number): boolean {
  return issuanceOf(listed).kind === "failed" && Date.parse(listed.created) < time;
}

function rank({ isUsed, listed, isSpent }: Omit<OwnedCertificate, "unit">): number {
  if (isSpent) return 3;
  return isUsed ? 0 : issuanceOf(listed).kind === "issued" ? 1 : 2;
}
