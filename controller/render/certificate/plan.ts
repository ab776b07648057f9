/** Which certificates a Service wants, which it can use, and which nobody needs any more. Follows from what the cloud lists. */
import type { V1Secret } from "@kubernetes/client-node";
import { certificateUnit } from "../../../stacks/units/names.ts";
import type { CertificateSpec, LoadBalancerState, ServiceRef, UnitId } from "../../../stacks/units/spec.ts";
import type { Certificate } from "../../hcloud/api.ts";
import type { ServiceOptions } from "../service/options/annotations.ts";
import { issuanceOf, renewalProblem } from "./listed.ts";
import { type CertificateLists, leftCertificates, type OwnedCertificate, ownedCertificates } from "./owned.ts";
import { type Resolution, Resolver } from "./resolve.ts";
import { sourcesOf } from "./sources.ts";

/** What surrounds a Service when its certificates are planned. */
export interface CertificateSurroundings extends CertificateLists {
  /** TLS Secrets of the Service's namespace, by name; absent when they are not ours to read. */
  readonly secrets?: ReadonlyMap<string, V1Secret>;
  /** The balancer that exists for the Service, if one does. */
  readonly existing?: LoadBalancerState;
}

/** What one port asks for. Options that cannot be read are unknown intents. */
export interface PortWish {
  readonly options: ServiceOptions;
  readonly isBroken: boolean;
}

export interface WantedCertificate {
  readonly spec: CertificateSpec;
  /** Of one that is uploaded; for the gateway alone. */
  readonly privateKey?: string;
}

export interface CertificatePlan {
  /** What each https port presents; a port that is not here has to wait. */
  readonly ids: ReadonlyMap<number, readonly number[]>;
  readonly wanted: readonly WantedCertificate[];
  readonly owned: readonly OwnedCertificate[];
  /** Those of `owned` that nobody wants and no balancer presents. */
  readonly stale: readonly UnitId[];
  /** What a user should know about ports that wait, and about renewals. */
  readonly problems: readonly string[];
  /** Whether something is not as it should be in the list, which may be old. */
  readonly isUncertain: boolean;
  /** When the list is worth another look, because something is being issued. */
  readonly lookAgainMs?: number;
}

/**
 * A certificate that is not there or not issued keeps its listener waiting and nothing else: one that exists goes on with
 * what it presents. When the intent changes, the new certificate is made beside the old, the listener changes over once it
 * is issued, and then the old one goes: each step follows from the lists, and nothing is remembered in between.
 */
export function planCertificates(
  service: ServiceRef,
  ports: ReadonlyMap<number, PortWish>,
  around: CertificateSurroundings,
): CertificatePlan {
  const owned = ownedCertificates(service, around);
  const taken = new Set(owned.map(({ unit }) => unit));
  const left = leftCertificates(service, around).filter(({ unit }) => !taken.has(unit));
  const resolver = new Resolver(service, [...owned, ...left], around);
  const resolved = [...ports].map(([port, { options, isBroken }]) => {
    const isHttps = options.protocol === "https";
    // A managed certificate is made for any protocol (HCCM C1): the listener may become https later.
    const sources = sourcesOf(options).filter(({ kind }) => isHttps || kind === "managed");
    return { port, isHttps, resolutions: isBroken ? [] : sources.map((source) => resolver.resolve(source)) };
  });
  const serving = resolved.filter(({ isHttps }) => isHttps);
  const { wanted } = resolver;
  const waiting = serving.flatMap(({ resolutions }) => resolutions.filter((one) => "problem" in one));
  const isKnown = [...ports.values()].every(({ isBroken }) => !isBroken);
  return {
    ids: new Map(serving.map(({ port, resolutions }) => [port, idsOf(port, resolutions, around)])),
    wanted,
    owned: [...owned, ...wantedOf(left, wanted)],
    stale: isKnown ? staleUnits(owned, wanted) : [],
    problems: [
      ...serving.flatMap(({ port, resolutions }) => problemsOf(port, resolutions, around)),
      ...owned.filter(({ isUsed }) => isUsed).flatMap(({ listed }) => renewalProblem(listed) ?? []),
    ],
    isUncertain: waiting.some(({ isInCloud }) => isInCloud),
    ...lookAgain(owned, around.now),
  };
}

/** The certificates of a Service that wants none any more. */
export function planRetirement(service: ServiceRef, lists: CertificateLists): Pick<CertificatePlan, "owned" | "stale"> {
  const owned = ownedCertificates(service, lists);
  return { owned, stale: staleUnits(owned, []) };
}

/** Left behind before, and wanted again. */
function wantedOf(left: readonly OwnedCertificate[], wanted: readonly WantedCertificate[]): typeof left {
  const units = new Set(wanted.map(({ spec }) => certificateUnit(spec)));
  return left.filter(({ unit }) => units.has(unit));
}

function staleUnits(owned: readonly OwnedCertificate[], wanted: readonly WantedCertificate[]): readonly UnitId[] {
  const units = new Set(wanted.map(({ spec }) => certificateUnit(spec)));
  return owned.filter(({ unit, isUsed }) => !units.has(unit) && !isUsed).map(({ unit }) => unit);
}

/** What can be used of the intent; while something is missing, also what the port presents today. */
function idsOf(port: number, resolutions: readonly Resolution[], around: CertificateSurroundings): readonly number[] {
  const ids = resolutions.flatMap((one) => ("id" in one ? [one.id] : []));
  const kept = ids.length < resolutions.length ? presented(port, around) : [];
  return [...new Set([...ids, ...kept])];
}

/** What a port presents today. One that was never issued is not worth keeping: no client gets past it. */
function presented(port: number, { existing, certificates }: CertificateSurroundings): readonly number[] {
  const listener = existing?.listeners.find(({ listenPort }) => listenPort === port);
  const isIssued = (certificate: Certificate) => issuanceOf(certificate).kind === "issued";
  const issued = new Set(certificates.filter(isIssued).map(({ id }) => id));
  return (listener?.http?.certificateIds ?? []).filter((id) => issued.has(id));
}

function problemsOf(
  port: number,
  resolutions: readonly Resolution[],
  around: CertificateSurroundings,
): readonly string[] {
  const problems = resolutions.flatMap((one) => ("problem" in one ? [one.problem] : []));
  if (problems.length === 0) return [];
  const state = idsOf(port, resolutions, around).length > 0 ? "goes on with what it has" : "is not served yet";
  return [`port ${port} ${state}: ${problems.join(", ")}`];
}

/** The longer an issuance takes, the rarer it is looked at. */
function lookAgain(owned: readonly OwnedCertificate[], now: number): { readonly lookAgainMs?: number } {
  const ages = owned
    .filter(({ listed }) => issuanceOf(listed).kind === "pending")
    .map(({ listed }) => now - Date.parse(listed.created));
  return ages.length === 0 ? {} : { lookAgainMs: Math.min(Math.max(Math.min(...ages) / 5, 3_000), 60_000) };
}
