import { EventEmitter } from "node:events";
import type { ClientRequest } from "node:http";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { NotLeader } from "../../../../controller/diagnostics/errors.ts";
import { sendIfAllowed } from "../../../../controller/net/fence.ts";

/** A request whose connection is yet to be made, and what becomes of it. */
function aRequest(method: string, mayWrite: () => boolean, socket: Socket = new Socket()) {
  const outcomes: unknown[] = [];
  const request = Object.assign(new EventEmitter(), {
    method,
    end: (body: unknown) => outcomes.push(body),
    destroy: (error: unknown) => outcomes.push(error),
  });
  Object.defineProperty(socket, "connecting", { value: true });
  sendIfAllowed(request as unknown as ClientRequest, "body", mayWrite);
  request.emit("socket", socket);
  return { outcomes, socket };
}

it.each([
  ["GET", false, "body"],
  ["HEAD", false, "body"],
  ["POST", true, "body"],
  ["POST", false, expect.any(NotLeader)],
])("sends a %s once connected, if writing is allowed (%s) or it is a read", (method, mayWrite, expected) => {
  const { outcomes, socket } = aRequest(method, () => mayWrite);
  expect(outcomes).toEqual([]);
  socket.emit("connect");
  expect(outcomes).toEqual([expected]);
});

it("checks only after the handshake, during which the process may have been paused", () => {
  let mayWrite = true;
  const { outcomes, socket } = aRequest("PUT", () => mayWrite, new TLSSocket(new Socket()));
  socket.emit("connect");
  expect(outcomes).toEqual([]);
  mayWrite = false;
  socket.emit("secureConnect");
  expect(outcomes).toEqual([expect.any(NotLeader)]);
});
