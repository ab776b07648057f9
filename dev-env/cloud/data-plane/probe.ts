/** A single health check of a target. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import type { HealthState } from "../state/health.ts";
import type { HealthCheck } from "../state/records.ts";
import { connectWithHeader, localHeader } from "./proxy-protocol.ts";

/** Describes one health check. */
export interface ProbeRequest {
  readonly host: string;
  /** The address to connect from; undefined leaves it to the operating system. */
  readonly localAddress: string | undefined;
  readonly check: HealthCheck;
  readonly timeoutMs: number;
  readonly proxyProtocol: boolean;
}

const CONTENT_MAX = 64 * 1024;

/** Checks a target once. Never rejects. */
export function probe(request: ProbeRequest): Promise<HealthState> {
  return request.check.protocol === "tcp" ? probeTcp(request) : probeHttp(request);
}

const unhealthy = (detail: NonNullable<HealthState["detail"]>): HealthState => ({ status: "unhealthy", detail });

function probeTcp({ host, localAddress, check, timeoutMs }: ProbeRequest): Promise<HealthState> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: check.port, timeout: timeoutMs, ...(localAddress && { localAddress }) });
    const end = (state: HealthState) => {
      socket.destroy();
      resolve(state);
    };
    socket.once("connect", () => end({ status: "healthy" }));
    socket.once("timeout", () => end(unhealthy("layer4_timeout")));
    socket.once("error", () => end(unhealthy("layer4_no_connection")));
  });
}

function probeHttp({ host, localAddress, check, timeoutMs, proxyProtocol }: ProbeRequest): Promise<HealthState> {
  const { http } = check;
  const address = { host, port: check.port, ...(localAddress && { localAddress }) };
  const send = http?.tls ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const request = send({
      ...address,
      path: http?.path ?? "/",
      headers: { host: http?.domain || host, connection: "close" },
      rejectUnauthorized: false,
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
      ...(proxyProtocol && !http?.tls ? { createConnection: () => connectWithHeader(address, localHeader) } : {}),
    });
    request.once("response", (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size <= CONTENT_MAX) chunks.push(chunk);
      });
      answer.once("end", () => resolve(judge(check, answer.statusCode ?? 0, Buffer.concat(chunks).toString())));
      answer.once("error", () => resolve(unhealthy("layer7_timeout")));
    });
    request.once("error", (error) =>
      resolve(
        unhealthy(
          error.name === "AbortError" || error.name === "TimeoutError" ? "layer7_timeout" : "layer4_no_connection",
        ),
      ),
    );
    request.end();
  });
}

/** Evaluates a response. Status codes may contain `?` for one digit and `*` for any; the expected text must occur. */
export function judge({ http }: HealthCheck, status: number, content: string): HealthState {
  const patterns = http?.status_codes ?? [];
  const isExpected = patterns.some((pattern) => matchesStatus(pattern, status));
  if (!isExpected) return { ...unhealthy("unexpected_http_status"), http_status_code: status };
  if (http?.response && !content.includes(http.response)) return unhealthy("unexpected_http_content");
  return { status: "healthy" };
}

function matchesStatus(pattern: string, status: number): boolean {
  return new RegExp(`^${pattern.replaceAll("?", "\\d").replaceAll("*", "\\d*")}$`).test(String(status));
}
