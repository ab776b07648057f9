/** Connections to Hetzner's APIs: kept open, and through the proxy that the environment names. */
import http from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { ConfigError } from "../diagnostics/errors.ts";
import { proxyFor } from "./proxy.ts";

/** How to send requests to one endpoint. */
export interface WayOut {
  readonly agent: http.Agent;
  readonly request: typeof http.request;
}

/** Connections to one endpoint. Throws a ConfigError for an unsupported proxy. */
export function openWayOut(endpoint: string, env: NodeJS.ProcessEnv, maxSockets: number): WayOut {
  const url = new URL(endpoint);
  const isSecure = url.protocol === "https:";
  const proxy = proxyFor(url, env);
  const variable = isSecure ? "HTTPS_PROXY" : "HTTP_PROXY";
  if (proxy !== undefined && !/^https?:\/\/[^/]/.test(proxy)) {
    throw new ConfigError([`${variable}: only http:// and https:// proxies are supported`]);
  }
  const settings = { keepAlive: true, maxSockets, ...(proxy !== undefined && { proxyEnv: { [variable]: proxy } }) };
  return isSecure
    ? { agent: new https.Agent(settings), request: https.request }
    : { agent: new http.Agent(settings), request: http.request };
}

interface TextRequest {
  /** GET when absent. */
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
}

/** Sends a request and reads the response, whatever its status. */
export function readText({ agent, request }: WayOut, url: string, { timeoutMs, body: sent, ...options }: TextRequest) {
  return new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
    request(url, { ...options, agent, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    })
      .on("error", reject)
      .end(sent);
  });
}
