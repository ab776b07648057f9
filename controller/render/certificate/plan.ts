/** The certificates of a Service: which it needs, can use and no longer needs, derived from the cloud's lists. */
import type { V1Secret } from "@kubernetes/client-node";
import { certificateUnit } from "../../../stacks/units/names.ts";
import type { CertificateSpec, LoadBalancerState, ServiceRef, UnitId } from "../../../stacks/units/spec.ts";
import type { Certificate } from "../../hcloud/api.ts";
import type { ServiceOptions } from "../service/options/annotations.ts";
import { issuanceOf, renewalProblem } from "./listed.ts";
import {
  type CertificateLists,
  leaveCertificate,
  leftCertificates,
  type OwnedCertificate,
  ownedCertificates,
} from "./owned.ts";
import { type Resolution, Resolver } from "./resolve.ts";
import { sourcesOf } from "./sources.ts";

/** What certificates are planned from, besides the options. */
export interface CertificateSurroundings extends CertificateLists {
  /** TLS Secrets of the Service's namespace, by name; absent when we may not read them. */
  readonly secrets?: ReadonlyMap<string, V1Secret>;
  /** The Service's existing load balancer. */
  readonly existing?: LoadBalancerState | undefined;
}

/** The certificate options of one port. `isBroken`: some are invalid, so that what the port needs is unknown. */
export interface PortWish {
  readonly options: ServiceOptions;
  readonly isBroken: boolean;
}

/** A certificate that should exist. */
export interface WantedCertificate {
  readonly spec: CertificateSpec;
  /** Private key of an uploaded certificate; only the gateway may use it. */
  readonly privateKey?: string;
}

/** What should happen to the certificates of a Service. */
export interface CertificatePlan {
  /** Certificate ids by https port. A port without any must wait. */
  readonly ids: ReadonlyMap<number, readonly number[]>;
  readonly wanted: readonly WantedCertificate[];
  readonly owned: readonly OwnedCertificate[];
  /** Owned certificates that are no longer needed and that no load balancer presents. */
  readonly stale: readonly UnitId[];
  /** For the user: why ports wait, and failed renewals. */
  readonly problems: readonly string[];
  /** Whether a newer list of certificates could resolve a problem. */
  readonly isUncertain: boolean;
  /** When to read the list again, because a certificate is being issued. */
  readonly rereadAfterMs?: number;
}

/**
 * Plans the certificates of a Service. A certificate that is missing or not issued holds back only its own listener; an
 * existing listener keeps presenting what it has. When the options change, the new certificate is created beside the
 * old one, the listener switches once it is issued, and then the old one is removed. Each step follows from the lists
 * alone.
 */
export function planCertificates(
  service: ServiceRef,
  ports: ReadonlyMap<number, PortWish>,
  around: CertificateSurroundings,
): CertificatePlan {
  const owned = ownedCertificates(service, around);
  const ownUnits = new Set(owned.map(({ unit }) => unit));
  const left = leftCertificates(service, around).filter(({ unit }) => !ownUnits.has(unit));
  const resolver = new Resolver(service, [...owned, ...left], around);
  const resolved = [...ports].map(([port, { options, isBroken }]) => {
    const isHttps = options.protocol === "https";
    // A managed certificate is created for any protocol (HCCM C1): the listener may become https later.
    const sources = sourcesOf(options).filter(({ kind }) => isHttps || kind === "managed");
    return { port, isHttps, resolutions: isBroken ? [] : sources.map((source) => resolver.resolve(source)) };
  });
  const serving = resolved.filter(({ isHttps }) => isHttps);
  const { wanted } = resolver;
  const needed = new Set(wanted.map(({ spec }) => certificateUnit(spec)));
  const waiting = serving.flatMap(({ resolutions }) => resolutions.filter((one) => "problem" in one));
  const isKnown = [...ports.values()].every(({ isBroken }) => !isBroken);
  return {
    ids: new Map(serving.map(({ port, resolutions }) => [port, idsOf(port, resolutions, around)])),
    wanted,
    owned: [...owned, ...left.filter(({ unit }) => needed.has(unit))], // what was released may be needed again
    stale: isKnown ? staleUnits(owned, needed) : [],
    problems: [
      ...serving.flatMap(({ port, resolutions }) => problemsOf(port, resolutions, around)),
      ...owned.filter(({ isUsed }) => isUsed).flatMap(({ listed }) => renewalProblem(listed) ?? []),
    ],
    isUncertain: waiting.some(({ isInCloud }) => isInCloud),
    ...rereadAfter(owned, around.now),
  };
}

/** What happens to the certificates of a Service that no longer needs any. */
export interface Retirement extends Pick<CertificatePlan, "owned" | "stale"> {
  /** Certificates that stay without an owner, because a load balancer that stays presents them. */
  readonly left?: readonly CertificateSpec[];
}

/**
 * The plan for a Service that no longer needs certificates. `isFinal`: its own load balancer will not change again, so
 * that what is presented now stays presented. Of several certificates with the same content, one is left per run.
 */
export function planRetirement(service: ServiceRef, lists: CertificateLists, isFinal: boolean): Retirement {
  const owned = ownedCertificates(service, lists);
  const left = owned.filter(({ unit, state, isUsed }) => isFinal && isUsed && unit === certificateUnit(state));
  return { owned, stale: staleUnits(owned, new Set()), left: left.map(({ state }) => leaveCertificate(state)) };
}

function staleUnits(owned: readonly OwnedCertificate[], needed: ReadonlySet<UnitId>): readonly UnitId[] {
  return owned.filter(({ unit, isUsed }) => !needed.has(unit) && !isUsed).map(({ unit }) => unit);
}

/** The usable certificates of a port and, while some are missing, also what it presents today. */
function idsOf(port: number, resolutions: readonly Resolution[], around: CertificateSurroundings): readonly number[] {
  const ids = resolutions.flatMap((one) => ("id" in one ? [one.id] : []));
  const kept = ids.length < resolutions.length ? presented(port, around) : [];
  return [...new Set([...ids, ...kept])];
}

/** What a port presents today, except certificates that were never issued: no client accepts them. */
function presented(port: number, { existing, certificates }: CertificateSurroundings): readonly number[] {
  const listener = existing?.listeners.find(({ listenPort }) => listenPort === port);
  const isIssued = (certificate: Certificate) => issuanceOf(certificate).kind === "issued";
  const issued = new Set(certificates.filter(isIssued).map(({ id }) => id));
  return (listener?.http?.certificateIds ?? []).filter((id) => issued.has(id));
}

function problemsOf(port: number, resolved: readonly Resolution[], around: CertificateSurroundings): readonly string[] {
  const problems = resolved.flatMap((one) => ("problem" in one ? [one.problem] : []));
  if (problems.length === 0) return [];
  const state = idsOf(port, resolved, around).length > 0 ? "keeps its current certificate" : "is not served yet";
  return [`port ${port} ${state}: ${problems.join(", ")}`];
}

/** The longer an issuance takes, the less often it is checked. */
function rereadAfter(owned: readonly OwnedCertificate[], now: number): { readonly rereadAfterMs?: number } {
  const ages = owned
    .filter(({ listed }) => issuanceOf(listed).kind === "pending")
    .map(({ listed }) => now - Date.parse(listed.created) || 0); // an unreadable time counts as now
  return ages.length === 0 ? {} : { rereadAfterMs: Math.min(Math.max(Math.min(...ages) / 5, 3_000), 60_000) };
}
