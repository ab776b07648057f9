/** Reads JSON request bodies. */
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { refuse } from "../api/errors.ts";

const MAX_LENGTH = 1024 * 1024;

/** The JSON body of a request; an empty body counts as `{}`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await text(request);
  if (body.length > MAX_LENGTH) throw refuse("json_error", "request body is too large");
  try {
    return body.trim() === "" ? {} : JSON.parse(body);
  } catch {
    throw refuse("json_error", "invalid JSON in request body");
  }
}
