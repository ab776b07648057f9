/** Fencing: checks right before a request is sent that it still may be, because the process may have been paused meanwhile. */
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** Once connected, sends the request, or destroys it with the error that `refusal` returns. */
export function sendIfAllowed(
  request: ClientRequest,
  body: string | undefined,
  refusal: () => Error | undefined,
): void {
  const go = () => {
    const error = refusal();
    if (error) request.destroy(error);
    else request.end(body);
  };
  request.once("socket", (socket: Socket) => {
    if (!socket.connecting) go();
    else socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", go);
  });
}
