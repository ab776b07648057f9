/** What a turn has to know of the certificates of all Services. */
import { unitOf } from "../../stacks/names.ts";
import type { UnitId } from "../../stacks/spec.ts";
import type { Desired } from "./desired.ts";
import { planRun } from "./plan.ts";
import type { ServiceWish } from "./wishes.ts";

/** Units of the certificates that a Service wants, or wants no more. */
export function certificateUnits(wish: ServiceWish): readonly UnitId[] {
  if (wish.kind === "refused") return [];
  const wanted = wish.kind === "balance" ? wish.certificates.wanted.map(({ spec }) => unitOf(spec)) : [];
  return [...wanted, ...wish.certificates.stale];
}

/** Whether the list of certificates, which may be old, would make a difference: to one that waits, or one that goes. */
export function isUncertain(desired: Desired): boolean {
  const awaits = desired.services.some(
    (wish) => wish.kind === "release" || (wish.kind === "balance" && wish.certificates.isUncertain),
  );
  return awaits || planRun(desired).some(({ unit }) => unit.startsWith("certificate/"));
}

/** Milliseconds until an issuance is worth a look, one number for each Service that waits for one. */
export function looksAgain({ services }: Desired): readonly number[] {
  return services.flatMap((wish) => (wish.kind === "balance" ? (wish.certificates.lookAgainMs ?? []) : []));
}

/** Keys of the certificates that are to be uploaded, by their names. */
export function privateKeys({ services }: Desired): ReadonlyMap<string, string> {
  const wanted = services.flatMap((wish) => (wish.kind === "balance" ? wish.certificates.wanted : []));
  return new Map(
    wanted.flatMap(({ spec, privateKey }) => (privateKey === undefined ? [] : [[spec.name, privateKey] as const])),
  );
}
