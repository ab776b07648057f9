/** Sends requests to the controller's HTTPS port as a kubelet does: without verifying the certificate. */
import { get } from "node:https";
import { text } from "node:stream/consumers";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export function askSecurePort(port: number, path: string, token?: string): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const options = { host: "127.0.0.1", port, path, headers, rejectUnauthorized: false, agent: false as const };
  return new Promise((resolve, reject) => {
    get(options, async (response) => resolve({ status: response.statusCode ?? 0, body: await text(response) })).on(
      "error",
      reject,
    );
  });
}
