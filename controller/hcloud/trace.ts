/** A request and its answer as HCLOUD_DEBUG shows them: whole, but for what must stay secret. */
import type { ApiRequest, ApiResponse } from "./exchange.ts";

/** Fields of bodies that hold a private key or a password. */
const SECRET_FIELDS = new Set(["private_key", "root_password", "password", "token", "user_data"]);

export interface Traced {
  readonly method: string;
  readonly path: string;
  readonly sent?: unknown;
  readonly status: number;
  readonly answer: unknown;
}

export function traced({ method, path, body }: ApiRequest, { status, body: answer }: ApiResponse): Traced {
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
