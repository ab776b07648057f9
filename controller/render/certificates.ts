/** Certificates across all Services: their units, private keys, and when to read the list again. */
import { PRIVATE_KEY } from "../../stacks/units/inputs.ts";
import { unitOf } from "../../stacks/units/names.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import type { ApiRequest } from "../hcloud/exchange.ts";
import type { Rendered } from "./cluster.ts";
import { isBalanced, type ServiceIntent } from "./intents.ts";

/** Units of the certificates that a Service needs or no longer needs. */
export function certificateUnits(intent: ServiceIntent): readonly UnitId[] {
  if (intent.kind === "refused") return [];
  const specs =
    intent.kind === "balance" ? intent.certificates.wanted.map(({ spec }) => spec) : (intent.certificates.left ?? []);
  return [...specs.map(unitOf), ...intent.certificates.stale];
}

/** Milliseconds until the list of certificates should be read again, for each Service that waits for an issuance. */
export function looksAgain({ services }: Rendered): readonly number[] {
  return services.filter(isBalanced).flatMap(({ certificates }) => certificates.rereadAfterMs ?? []);
}

/** Private keys of the certificates to upload, by certificate name. */
export function privateKeys({ services }: Rendered): ReadonlyMap<string, string> {
  const wanted = services.filter(isBalanced).flatMap(({ certificates }) => certificates.wanted);
  return new Map(
    wanted.flatMap(({ spec, privateKey }) => (privateKey === undefined ? [] : [[spec.name, privateKey] as const])),
  );
}

/**
 * Inserts the private key of a certificate, found by name, into the request that uploads it; other requests are
 * unchanged. The gateway does this, so that private keys never reach the engine or its plugin.
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
