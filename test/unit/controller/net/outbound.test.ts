import { afterEach, beforeEach, expect, it } from "vitest";
import { openWayOut, readText } from "../../../../controller/net/outbound.ts";
import { reply, startServer, type TestServer } from "../../../support/http-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startServer((_, response) => reply(response, { message: "hello" }, 418));
});
afterEach(() => server.stop());

const read = async (endpoint: string, env: Record<string, string>) => {
  const wayOut = openWayOut(endpoint, env, 1);
  try {
    return await readText(wayOut, `${endpoint}/x`, { headers: { authorization: "Basic abc" }, timeoutMs: 2_000 });
  } finally {
    wayOut.agent.destroy();
  }
};

it("sends requests through the proxy", async () => {
  const answer = await read("http://robot.example/v1", { HTTP_PROXY: server.url });
  expect(answer).toEqual({ status: 418, body: '{"message":"hello"}' });
  expect(server.received.map(({ path, headers }) => [path, headers.host])).toEqual([
    ["http://robot.example/v1/x", "robot.example"],
  ]);
});

it("sends requests directly without a proxy", async () => {
  await read(server.url, { HTTP_PROXY: "http://127.0.0.1:9" });
  expect(server.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([["/x", "Basic abc"]]);
});

it.each(["socks5://127.0.0.1:1080", "http://"])("refuses an unsupported proxy: %s", (proxy) => {
  expect(() => openWayOut("https://api.example", { HTTPS_PROXY: proxy }, 1)).toThrow(
    "HTTPS_PROXY: only http:// and https:// proxies are supported",
  );
});
