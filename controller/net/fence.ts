/** Sends a request only if it still may go when its connection stands: a process may have been stopped for minutes in between. */
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** Sends the body and ends the request, or destroys it with what `refusal` returns at that moment. */
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
