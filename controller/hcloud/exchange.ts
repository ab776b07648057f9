/** Requests to the Hetzner API and its answers, as they pass through the gateway; and what a path says about them. */
import { CloudError } from "../diagnostics/errors.ts";
import { parseJson } from "../diagnostics/printable.ts";

export interface ApiRequest {
  readonly method: string;
  /** Below the API's base, with query: `/load_balancers?page=1`. */
  readonly path: string;
  readonly body?: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** True for requests that change nothing. */
export function isRead({ method }: ApiRequest): boolean {
  return method === "GET" || method === "HEAD";
}

/** The resource a path is about, e.g. `load_balancers/42`; nothing for collections and actions. */
export function resourceOf(path: string): string | undefined {
  const match = /^\/(?<collection>[a-z_]+)\/(?<id>\d+)(?=[/?]|$)/.exec(path);
  if (!match?.groups || match.groups.collection === "actions") return undefined;
  return `${match.groups.collection}/${match.groups.id}`;
}

/** The collection a path is in, e.g. `load_balancers`. */
export function collectionOf(path: string): string {
  return /^\/(?<name>[a-z_]+)/.exec(path)?.groups?.name ?? "";
}

/** The path with ids replaced by `-`, for metrics: `/load_balancers/-/actions/add_target`. */
export function endpointOf(path: string): string {
  return path.replace(/\?.*$/, "").replace(/\/\d+(?=\/|$)/g, "/-");
}

/** An answer in the API's own error envelope. */
export function errorResponse(status: number, code: string, message: string): ApiResponse {
  const body = JSON.stringify({ error: { code, message, details: code === "invalid_input" ? { fields: [] } : null } });
  return { status, headers: { "content-type": "application/json" }, body };
}

/** What an answer with an unexpected status says, as an error. */
export function cloudErrorOf(request: string, response: ApiResponse): CloudError {
  // Without the API's envelope a proxy answered: the status has to do.
  const { error } = parseJson<{ error?: { code?: string; message?: string } }>(response.body) ?? {};
  const message = error?.message ?? `the API responded with status ${response.status}`;
  return new CloudError(request, response.status, error?.code ?? "unexpected", message);
}

/** Fields of bodies that hold a private key or a password. */
const SECRET_FIELDS = new Set(["private_key", "root_password", "password", "token", "user_data"]);

/** A request and its answer as HCLOUD_DEBUG shows them: whole, but for what must stay secret. */
export function traced({ method, path, body }: ApiRequest, { status, body: answer }: ApiResponse) {
  return { method, path, ...(body !== undefined && { sent: shown(body) }), status, answer: shown(answer) };
}

/** A body that is not JSON is not shown: nobody knows what is in it. */
function shown(text: string): unknown {
  if (text === "") return "";
  try {
    return JSON.parse(text, (key, value: unknown) => (SECRET_FIELDS.has(key) ? "[Redacted]" : value));
  } catch {
    return `${text.length} characters that are not JSON`;
  }
}
