import { onTestFinished } from "vitest";
import { type Cloud, type CloudOptions, startCloud } from "../../../../dev-env/cloud/cloud.ts";

/** JSON of any shape. A wrong path is undefined, and fails the assertion. */
// biome-ignore lint/suspicious/noExplicitAny: responses are only compared
export type Json = any;

/** A response, as tests see it. */
export interface Reply {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
  /** The error code; undefined if the request succeeded. */
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** A cloud that stops with the test. By default it has no rate limit. */
export async function aCloud(options: CloudOptions = {}): Promise<Cloud> {
  const cloud = await startCloud({ rateLimit: "off", ...options });
  onTestFinished(() => cloud.stop());
  return cloud;
}

type Inspector = (method: string, path: string, status: number, body: unknown) => void;

let inspect: Inspector = () => {};

/** Passes every further response to the inspector, which throws if it is invalid. */
export function inspectAnswers(inspector: Inspector): void {
  inspect = inspector;
}

/** Sends a request to the API. */
export async function call(cloud: Cloud, line: string, body?: unknown, headers: object = {}): Promise<Reply> {
  const [method = "GET", path = "/"] = line.split(" ");
  const response = await fetch(`${cloud.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${cloud.token}`, ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json: Json = text === "" ? undefined : JSON.parse(text);
  const { status } = response;
  inspect(method, path, status, json);
  return { status, body: json, headers: response.headers, code: json?.error?.code, message: json?.error?.message };
}

/** Creates a load balancer through the API, with these fields added to a minimal request. */
export async function aBalancer(cloud: Cloud, fields: object = {}): Promise<Json> {
  const request = {
    name: `lb-${cloud.state.loadBalancers.size}`,
    load_balancer_type: "lb11",
    location: "fsn1",
    ...fields,
  };
  const reply = await call(cloud, "POST /load_balancers", request);
  if (reply.status !== 201) throw new Error(`no balancer: ${reply.code} ${reply.message}`);
  return reply.body.load_balancer;
}
