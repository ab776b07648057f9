/** What a turn has to know of the certificates of all Services. */
import { PRIVATE_KEY } from "../../stacks/units/inputs.ts";
import { unitOf } from "../../stacks/units/names.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import { planRun } from "../guard/plan.ts";
import type { ApiRequest } from "../hcloud/exchange.ts";
import type { Desired } from "./cluster.ts";
import type { ServiceWish } from "./intents.ts";

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

/**
 * Puts the key of a certificate, known by its name, into the request that uploads it. All other requests stay as they are.
 * Keys join their certificates in the gateway, so that nobody behind it ever has them.
 */
export function insertKeys(keys: ReadonlyMap<string, string>): (request: ApiRequest) => ApiRequest {
  return (request) => {
    if (request.method !== "POST" || request.path !== "/certificates" || request.body === undefined) return request;
    const fields = JSON.parse(request.body) as { readonly name?: string; readonly private_key?: string };
    const key = keys.get(fields.name ?? "");
    if (key === undefined || fields.private_key !== PRIVATE_KEY) return request;
    return { ...request, body: JSON.stringify({ ...fields, private_key: key }) };
  };
}
