/** What a turn has to know of the certificates of all Services. */
import { PRIVATE_KEY } from "../../stacks/units/inputs.ts";
import { unitOf } from "../../stacks/units/names.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import type { ApiRequest } from "../hcloud/exchange.ts";
import type { Rendered } from "./cluster.ts";
import type { ServiceIntent } from "./intents.ts";

/** Units of the certificates that a Service wants, or wants no more. */
export function certificateUnits(intent: ServiceIntent): readonly UnitId[] {
  if (intent.kind === "refused") return [];
  const wanted = intent.kind === "balance" ? intent.certificates.wanted.map(({ spec }) => unitOf(spec)) : [];
  return [...wanted, ...intent.certificates.stale];
}

/** Milliseconds until an issuance is worth a look, one number for each Service that waits for one. */
export function looksAgain({ services }: Rendered): readonly number[] {
  return services.flatMap((intent) => (intent.kind === "balance" ? (intent.certificates.lookAgainMs ?? []) : []));
}

/** Keys of the certificates that are to be uploaded, by their names. */
export function privateKeys({ services }: Rendered): ReadonlyMap<string, string> {
  const wanted = services.flatMap((intent) => (intent.kind === "balance" ? intent.certificates.wanted : []));
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
