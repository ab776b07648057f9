import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Upstream, type UpstreamOptions } from "../../../../controller/hcloud/sender.ts";
import { reply, startServer, type TestServer } from "../../../support/http-server.ts";

let server: TestServer;
let upstream: Upstream | undefined;
const open = (given: Partial<UpstreamOptions> = {}) => {
  upstream = new Upstream({
    endpoint: `${server.url}/v1`,
    token: () => "t",
    userAgent: "test",
    timeoutMs: 2_000,
    ...given,
  });
  return upstream;
};

beforeEach(async () => {
  server = await startServer((_, response) => reply(response, { ok: true }));
});
afterEach(async () => {
  upstream?.close();
  await server.stop();
});

describe("the token", () => {
  it("HCCM E1: is read for every request, so that a rotated one is used at once", async () => {
    let token = "old";
    const api = open({ token: () => token });
    await api.send({ method: "GET", path: "/servers" }, "reader");
    token = "new";
    await api.send({ method: "GET", path: "/servers" }, "reader");
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer old", "Bearer new"]);
  });
});

describe("a process that is not the leader", () => {
  const write = { method: "POST", path: "/load_balancers", body: "{}" };

  it("may read but not write", async () => {
    let leads = true;
    const api = open({ mayWrite: () => leads });
    expect((await api.send(write, "run")).status).toBe(200);
    leads = false;
    await expect(api.send(write, "run")).rejects.toThrow("no longer the leader");
    await expect(api.send({ method: "DELETE", path: "/load_balancers/1" }, "run")).rejects.toThrow(
      "no longer the leader",
    );
    await api.send({ method: "GET", path: "/servers" }, "reader");
    expect(server.received.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });

  it("is checked when the connection is open, not when the request is made", async () => {
    const slow = await startSlowListener();
    try {
      let leads = true;
      const api = open({ endpoint: `http://127.0.0.1:${slow.port}/v1`, mayWrite: () => leads });
      const sent = api.send(write, "run");
      leads = false; // the process was stopped here, and went on later
      await expect(sent).rejects.toThrow("no longer the leader");
      expect(slow.received()).toBe("");
    } finally {
      await slow.stop();
    }
  });
});

/** Takes connections and notes what comes in. */
async function startSlowListener() {
  let text = "";
  const sockets = new Set<Socket>();
  const listener: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    received: () => text,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}
