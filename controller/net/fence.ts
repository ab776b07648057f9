/** Fencing: checks right before a request is sent that it still may be, because the process may have been paused meanwhile. */
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { NotLeader } from "../diagnostics/errors.ts";

/** Once connected, sends the request, or destroys it when it may no longer be sent. A read may always. */
export function sendIfAllowed(request: ClientRequest, body: string | undefined, mayWrite = () => true): void {
  const isRead = request.method === "GET" || request.method === "HEAD";
  const go = () => {
    if (isRead || mayWrite()) request.end(body);
    else request.destroy(new NotLeader());
  };
  request.once("socket", (socket: Socket) => {
    if (!socket.connecting) go();
    else socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", go);
  });
}
