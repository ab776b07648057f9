/** Private keys on their way to the API: they join their certificate in the gateway, and nobody behind it ever has them. */
import { PRIVATE_KEY } from "../../stacks/inputs.ts";
import type { ApiRequest } from "../hcloud/exchange.ts";

/** Puts the key of a certificate, known by its name, into the request that uploads it. All other requests stay as they are. */
export function insertKeys(keys: ReadonlyMap<string, string>): (request: ApiRequest) => ApiRequest {
  return (request) => {
    if (request.method !== "POST" || request.path !== "/certificates" || request.body === undefined) return request;
    const fields = JSON.parse(request.body) as { readonly name?: string; readonly private_key?: string };
    const key = keys.get(fields.name ?? "");
    if (key === undefined || fields.private_key !== PRIVATE_KEY) return request;
    return { ...request, body: JSON.stringify({ ...fields, private_key: key }) };
  };
}
