/** Changes a simulated cloud through its API, as a person or another program would. */
import type { Cloud } from "../../dev-env/cloud/cloud.ts";
import type { Json } from "../unit/dev-env/cloud/client.ts";

/** Sends one request, and returns the response. Rejects unless it succeeds. */
export async function changeCloud(
  { url, token }: Pick<Cloud, "url" | "token">,
  method: string,
  path: string,
  body: object = {},
): Promise<Json> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
