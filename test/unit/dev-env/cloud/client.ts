import { onTestFinished } from "vitest";
import { type Cloud, type CloudOptions, startCloud } from "../../../../dev-env/cloud/cloud.ts";

/** JSON as a test looks at it: any path may be followed, a wrong one gives undefined and fails the assertion. */
// biome-ignore lint/suspicious/noExplicitAny: answers are compared, never trusted
export type Json = any;

/** An answer with everything a test asserts on. */
export interface Reply {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
  /** `error.code`, or undefined for a success. */
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** A cloud that ends with the test; the rate limit is off unless asked for. */
export async function aCloud(options: CloudOptions = {}): Promise<Cloud> {
  const cloud = await startCloud({ rateLimit: "off", ...options });
  onTestFinished(() => cloud.stop());
  return cloud;
}

type Inspector = (method: string, path: string, status: number, body: unknown) => void;

let inspect: Inspector = () => {};

/** Shows every further answer to the inspector, which throws if it dislikes one. */
export function inspectAnswers(inspector: Inspector): void {
  inspect = inspector;
}

/** Calls the API the way a client does. */
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

/** A balancer made through the API, with any fields on top of the smallest request. */
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
