/** Requests to the Hetzner API and its responses, as they pass through the gateway, and what their paths mean. */
import { CloudError } from "../diagnostics/errors.ts";
import { parseJson } from "../diagnostics/printable.ts";

/** A request to the API. */
export interface ApiRequest {
  readonly method: string;
  /** Path below the base URL, with query: `/load_balancers?page=1`. */
  readonly path: string;
  readonly body?: string;
}

/** A response of the API. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** True for requests that change nothing. */
export function isRead({ method }: ApiRequest): boolean {
  return method === "GET" || method === "HEAD";
}

/** True for a normalised path: one with `..` in it would reach another resource than it seems to. */
export function isNormalised(path: string): boolean {
  return new URL(path, "http://gateway").pathname === path.split("?", 1)[0];
}

/** The resource of a path, e.g. `load_balancers/42`; undefined for collections and actions. */
export function resourceOf(path: string): string | undefined {
  const match = /^\/(?<collection>[a-z_]+)\/(?<id>\d+)(?=[/?]|$)/.exec(path);
  if (!match?.groups || match.groups.collection === "actions") return undefined;
  return `${match.groups.collection}/${match.groups.id}`;
}

/** The collection of a path, e.g. `load_balancers`. */
export function collectionOf(path: string): string {
  return /^\/(?<name>[a-z_]+)/.exec(path)?.groups?.name ?? "";
}

/** The path with ids replaced by `-`, for metrics: `/load_balancers/-/actions/add_target`. */
export function endpointOf(path: string): string {
  return path.replace(/\?.*$/, "").replace(/\/\d+(?=\/|$)/g, "/-");
}

/** A response in the API's error format. */
export function errorResponse(status: number, code: string, message: string): ApiResponse {
  const body = JSON.stringify({ error: { code, message, details: code === "invalid_input" ? { fields: [] } : null } });
  return { status, headers: { "content-type": "application/json" }, body };
}

/** An error as the API reports it. */
export interface ApiError {
  readonly code: string;
  /** Includes the reasons of invalid fields. */
  readonly message: string;
}

interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: {
      readonly fields?: readonly { readonly name: string; readonly messages?: readonly string[] }[];
    } | null;
  };
}

/** The error in a response. One without the API's error format comes from a proxy: only its status is known. */
export function apiErrorOf({ status, body }: ApiResponse): ApiError {
  const { code = "unexpected", message, details } = parseJson<ErrorBody>(body)?.error ?? {};
  const listed = Array.isArray(details?.fields) ? details.fields : [];
  const fields = listed.flatMap(({ name, messages = [] }) =>
    messages.length > 0 ? [`${name}: ${messages.join(", ")}`] : [],
  );
  const text = message ?? `the API responded with status ${status}`;
  return { code, message: fields.length > 0 ? `${text}: ${fields.join("; ")}` : text };
}

/** Codes of refusals that the plugin repeats for half a minute, in case another part of its program is about to help. */
const REPEATED: ReadonlySet<string> = new Set(["no_subnet_available", "service_error"]);

/** The response as the plugin gets it: it ends at once where repeating a request would only hold up the run. */
export function withoutRepetition(response: ApiResponse): ApiResponse {
  if (response.status < 400 || !REPEATED.has(apiErrorOf(response).code)) return response;
  const { error } = JSON.parse(response.body) as ErrorBody;
  return { ...response, body: JSON.stringify({ error: { ...error, code: "refused" } }) };
}

/** The error for a response with an unexpected status. */
export function cloudErrorOf(request: string, response: ApiResponse): CloudError {
  const { code, message } = apiErrorOf(response);
  return new CloudError(request, response.status, code, message);
}

/** Body fields that contain secrets. */
const SECRET_FIELDS = new Set(["private_key", "root_password", "password", "token", "user_data"]);

/** A request and its response as HCLOUD_DEBUG logs them: complete except for secrets. */
export function traced({ method, path, body }: ApiRequest, { status, body: answer }: ApiResponse) {
  return { method, path, ...(body !== undefined && { sent: shown(body) }), status, answer: shown(answer) };
}

/** A body that is not JSON is not logged, because secrets in it cannot be recognised. */
function shown(text: string): unknown {
  if (text === "") return "";
  try {
    return JSON.parse(text, (key, value: unknown) => (SECRET_FIELDS.has(key) ? "[Redacted]" : value));
  } catch {
    return `${text.length} characters that are not JSON`;
  }
}
