/** Requests over connections that a test chooses, unlike those of `fetch`. */
import { once } from "node:events";
import type { ClientRequest } from "node:http";
import { text } from "node:stream/consumers";

/** Sends a request without a body, and reads the whole response. */
export async function responseTo(request: ClientRequest): Promise<{ readonly status: number; readonly body: string }> {
  request.on("error", () => {}); // one that follows the response ends its body, too
  const [response] = await once(request.end(), "response");
  return { status: response.statusCode ?? 0, body: await text(response) };
}
