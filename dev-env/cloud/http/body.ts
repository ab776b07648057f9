import type { IncomingMessage } from "node:http";
import { refuse } from "../api/errors.ts";

const MAX_BYTES = 1024 * 1024;

/** The JSON body of a request; none at all counts as an empty object. What is too large is read to its end, then refused. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= MAX_BYTES) chunks.push(chunk);
  }
  if (size > MAX_BYTES) throw refuse("json_error", "request body is too large");
  const text = Buffer.concat(chunks).toString("utf8");
  return text.trim() === "" ? {} : parseJson(text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse("json_error", "invalid JSON in request body");
  }
}
