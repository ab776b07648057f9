/** Sends requests to the controller's HTTPS port as a kubelet does: without verifying the certificate. */
import { request } from "node:https";
import { responseTo } from "./http-client.ts";

export function askSecurePort(port: number, path: string, token?: string): ReturnType<typeof responseTo> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return responseTo(request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false, agent: false }));
}
