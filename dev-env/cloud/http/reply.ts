/** Writes responses with the headers that Hetzner sends. */
import type { ServerResponse } from "node:http";
import type { Answer } from "../api/route.ts";
import type { RateLimitState } from "./rate-limit.ts";

/** Marks a response that is not sent: the connection is closed instead. */
export const DROP = Symbol("dropped connection");
/** The type of `DROP`. */
export type Dropped = typeof DROP;

/** Values of additional headers. */
export interface ReplyExtras {
  readonly quota?: RateLimitState | undefined;
  readonly correlationId?: string;
}

/** Writes the response with Hetzner's headers. */
export function send(response: ServerResponse, answer: Answer | Dropped, extras: ReplyExtras): void {
  if (answer === DROP) {
    response.socket?.destroy();
    return;
  }
  const { status, body, links, text } = answer;
  const payload = text ?? (body === undefined ? "" : JSON.stringify(body));
  const type = text === undefined ? "application/json" : "text/plain; charset=utf-8";
  response.writeHead(status, {
    ...(payload === "" ? {} : { "Content-Type": type }),
    "Content-Length": Buffer.byteLength(payload),
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Link,X-Correlation-ID",
    ...(links ? { Link: links } : {}),
    ...(extras.correlationId ? { "X-Correlation-Id": extras.correlationId } : {}),
    ...(extras.quota ? quotaHeaders(extras.quota) : {}),
  });
  response.end(payload);
}

function quotaHeaders({ limit, remaining, reset }: RateLimitState) {
  return { "RateLimit-Limit": limit, "RateLimit-Remaining": remaining, "RateLimit-Reset": reset };
}
