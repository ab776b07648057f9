import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KubeError } from "../../../../controller/diagnostics/errors.ts";
import { KubeClient, type WatchEvent } from "../../../../controller/kube/client.ts";
import { paths } from "../../../../controller/kube/paths.ts";
import { type Received, reply, startServer, type TestServer } from "../../../support/http-server.ts";

let server: TestServer;
let client: KubeClient;
let answer: (request: Received, response: ServerResponse) => void;
const accessTo = (url: string) => ({
  server: new URL(url),
  credentials: async () => ({ headers: { authorization: "Bearer t" } }),
});

beforeEach(async () => {
  answer = (_, response) => reply(response, { ok: true });
  server = await startServer((request, response) => answer(request, response));
  client = new KubeClient(accessTo(server.url), { timeoutMs: 2_000 });
});
afterEach(async () => {
  client.close();
  await server.stop();
});

describe("requests", () => {
  it("carry credentials, query and body", async () => {
    await client.get("/api/v1/nodes", { limit: 5, continue: undefined, watch: true });
    await client.create("/api/v1/x", { a: 1 });
    await client.replace("/api/v1/x", { a: 2 });
    await client.delete("/api/v1/x");
    await client.delete("/api/v1/x", { preconditions: { uid: "ü" } });
    expect(server.received.map(({ method, path, body }) => [method, path, body])).toEqual([
      ["GET", "/api/v1/nodes?limit=5&watch=true", ""],
      ["POST", "/api/v1/x", '{"a":1}'],
      ["PUT", "/api/v1/x", '{"a":2}'],
      ["DELETE", "/api/v1/x", ""],
      ["DELETE", "/api/v1/x", '{"preconditions":{"uid":"ü"}}'],
    ]);
    expect(server.received[0]?.headers.authorization).toBe("Bearer t");
  });

  it.each([
    ["merge", "application/merge-patch+json"],
    ["strategic-merge", "application/strategic-merge-patch+json"],
  ] as const)("patch as %s", async (type, contentType) => {
    await client.patch("/x", type, {});
    expect(server.received[0]?.headers["content-type"]).toBe(contentType);
  });

  it("that write are refused when another process may lead by now; reads are not", async () => {
    let leads = true;
    const led = new KubeClient(accessTo(server.url), { mayWrite: () => leads });
    await led.patch("/x", "merge", {});
    leads = false;
    const refused = [led.patch("/x", "merge", {}), led.create("/x", {}), led.replace("/x", {}), led.delete("/x")];
    for (const attempt of refused) await expect(attempt).rejects.toMatchObject({ code: "not-leader" });
    await led.get("/x");
    expect(server.received.map(({ method }) => method)).toEqual(["PATCH", "GET"]);
    led.close();
  });

  it("are reported with their status, or 0 when there was no response", async () => {
    const seen: [string, number][] = [];
    const counted = new KubeClient(accessTo(server.url), {
      onExchange: ({ method, status }) => seen.push([method, status]),
    });
    await counted.get("/x");
    answer = (_, response) => response.destroy();
    await expect(counted.create("/x", {})).rejects.toThrow();
    expect(seen).toEqual([
      ["GET", 200],
      ["POST", 0],
    ]);
    counted.close();
  });

  it("are sent below the server's base path", async () => {
    const behind = new KubeClient(accessTo(`${server.url}/k8s/clusters/c-1/`), { timeoutMs: 2_000 });
    await behind.get("/api/v1/nodes");
    behind.close();
    expect(server.received[0]?.path).toBe("/k8s/clusters/c-1/api/v1/nodes");
  });

  it("cannot leave their path through an object name", () => {
    expect(paths.service("a/b", "../c")).toBe("/api/v1/namespaces/a%2Fb/services/..%2Fc");
    expect(paths.node("x?y")).toBe("/api/v1/nodes/x%3Fy");
  });

  it.each([
    ["a Status", () => ({ kind: "Status", message: "nodes is forbidden" }), 403, "GET /x: nodes is forbidden"],
    ["an object without a message", () => ({}), 409, "GET /x: {}"],
  ])("fail with %s's message and its HTTP status", async (_, body, status, message) => {
    answer = (_request, response) => reply(response, body(), status);
    const error = await client.get("/x").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({ status, message });
  });

  it.each([
    ["a proxy's page", "<html>busy</html>", "GET /x: <html>busy</html>"],
    ["nothing", "", "GET /x: status 502"],
  ])("fail with %s", async (_, body, message) => {
    answer = (_request, response) => void response.writeHead(502).end(body);
    await expect(client.get("/x")).rejects.toMatchObject({ status: 502, message });
  });

  it("fail without a status when there is no valid response", async () => {
    answer = (_, response) => void response.destroy();
    await expect(client.get("/x")).rejects.toMatchObject({ status: 0, code: "kube" });
    answer = (_, response) => void response.writeHead(200).end("{");
    await expect(client.get("/x")).rejects.toMatchObject({ status: 0 });
  });

  it("report a refused connection", async () => {
    const gone = await startServer(() => {});
    await gone.stop();
    const lonely = new KubeClient(accessTo(gone.url), { timeoutMs: 2_000 });
    await expect(lonely.get("/x")).rejects.toThrow("connection refused by");
    lonely.close();
  });

  it("time out on a silent server", async () => {
    answer = () => {};
    const hasty = new KubeClient(accessTo(server.url), { timeoutMs: 20 });
    await expect(hasty.get("/x")).rejects.toThrow("no response from 127.0.0.1");
    hasty.close();
  });
});

describe("a watch", () => {
  it("that is accepted and never answered times out", async () => {
    answer = () => {};
    const hasty = new KubeClient(accessTo(server.url), { timeoutMs: 20 });
    const watching = hasty.watch(
      "/w",
      {},
      { onEvent: () => {}, signal: new AbortController().signal, longestMs: 60_000 },
    );
    await expect(watching).rejects.toThrow("no response");
    hasty.close();
  });

  const follow = (longestMs = 2_000) => {
    const events: WatchEvent<unknown>[] = [];
    const stop = new AbortController();
    const ended = client.watch(
      "/w",
      { resourceVersion: "5" },
      {
        signal: stop.signal,
        longestMs,
        onEvent: (event) => void events.push(event),
      },
    );
    return { events, stop, ended };
  };

  it("requests bookmarks and delivers every event, however it is split", async () => {
    const lines = `${JSON.stringify({ type: "ADDED", object: { n: "ü" } })}\n\n${JSON.stringify({ type: "BOOKMARK", object: {} })}\n`;
    const bytes = Buffer.from(lines);
    answer = (_, response) => {
      response.write(bytes.subarray(0, 32));
      setImmediate(() => response.end(bytes.subarray(32)));
    };
    const { events, ended } = follow();
    await ended;
    expect(events).toEqual([
      { type: "ADDED", object: { n: "ü" } },
      { type: "BOOKMARK", object: {} },
    ]);
    expect(server.received[0]?.path).toBe("/w?resourceVersion=5&watch=true&allowWatchBookmarks=true");
  });

  it("ends normally when the server ends it, and with an error when the connection breaks", async () => {
    answer = (_, response) => void response.end();
    await expect(follow().ended).resolves.toBeUndefined();
    answer = (_, response) => void response.write("\n", () => response.destroy());
    await expect(follow().ended).rejects.toThrow();
  });

  it("fails with the status of a refusal", async () => {
    answer = (_, response) => reply(response, { message: "too old" }, 410);
    await expect(follow().ended).rejects.toMatchObject({ status: 410 });
  });

  it("fails with the status of a refusal whose body stalls", async () => {
    answer = (_, response) => void response.writeHead(410, { "content-length": "200" }).write('{"kind":"Status",');
    const hasty = new KubeClient(accessTo(server.url), { timeoutMs: 100 });
    const { signal } = new AbortController();
    const watching = hasty.watch("/w", {}, { onEvent: () => {}, signal, longestMs: 60_000 });
    await expect(watching).rejects.toMatchObject({ code: "kube", status: 410, message: "GET /w: status 410" });
    hasty.close();
  });

  it("fails when it outlives its timeout, even with events: it may be half-open since the last one", async () => {
    answer = (_, response) => {
      const talking = setInterval(() => response.write("\n"), 5);
      response.on("close", () => clearInterval(talking));
    };
    await expect(follow(30).ended).rejects.toThrow("watch still open after its timeout");
  });

  it("ends with the signal", async () => {
    const opened = Promise.withResolvers<void>();
    answer = (_, response) => {
      response.write("\n");
      opened.resolve();
    };
    const { stop, ended } = follow();
    await opened.promise;
    stop.abort();
    await expect(ended).rejects.toThrow();
  });

  it("fails on an event that is not JSON", async () => {
    answer = (_, response) => void response.end("{nonsense\n");
    await expect(follow().ended).rejects.toThrow();
  });
});

describe("reaching the API server", () => {
  const never = new AbortController().signal;
  const asked = () => server.received.map(({ path }) => path);

  it("probes again without waiting for a lost probe, and shares probes among callers", async () => {
    answer = (_, response) => {
      if (server.received.length > 1) reply(response, {}, 503);
    };
    await Promise.all([client.reach(never), client.reach(never), client.reach(never)]);
    expect(asked()).toEqual(["/version", "/version"]);
  });

  it("waits for a slow response", async () => {
    answer = (_, response) => void setTimeout(() => reply(response, {}), 700);
    await client.reach(never);
    expect(asked()).toHaveLength(2);
  });

  it("fails without a response in time, and says why", async () => {
    answer = () => {};
    const hasty = new KubeClient(accessTo(server.url), { timeoutMs: 20 });
    await expect(hasty.reach(never)).rejects.toThrow("no response");
    hasty.close();
  });

  it("ends with the signal, and with the client", async () => {
    answer = () => {};
    const stop = new AbortController();
    const [told, closed] = [client.reach(stop.signal), client.reach(never)];
    stop.abort();
    await told;
    client.close();
    await expect(closed).rejects.toThrow();
  });

  it("reuses no idle connection", async () => {
    const sockets = new Set<unknown>();
    answer = (_, response) => {
      sockets.add(response.socket);
      reply(response, {});
    };
    await client.get("/x");
    await client.get("/x");
    expect(sockets.size).toBe(1);
    await client.reach(never);
    await client.get("/x");
    expect(sockets.size).toBe(3);
  });

  it("reuses no idle connection after a timeout on one of them", async () => {
    const hasty = new KubeClient(accessTo(server.url), { timeoutMs: 200 });
    const sockets = new Set<unknown>();
    const held: ServerResponse[] = [];
    answer = (_, response) => {
      sockets.add(response.socket);
      held.push(response);
      if (held.length === 2) for (const waiting of held) reply(waiting, {});
    };
    await Promise.all([hasty.get("/x"), hasty.get("/x")]);
    await expect(hasty.get("/silent")).rejects.toThrow("no response");
    answer = (_, response) => {
      sockets.add(response.socket);
      reply(response, {});
    };
    await hasty.get("/x");
    expect(sockets.size).toBe(3);
    hasty.close();
  });
});
