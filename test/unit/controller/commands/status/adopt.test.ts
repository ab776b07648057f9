import { createServer, setGlobalProxyFromEnv } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { setLabels } from "../../../../../controller/commands/status/adopt.ts";
import { Gateway } from "../../../../../controller/hcloud/gateway.ts";
import { CloudReader } from "../../../../../controller/hcloud/reader.ts";
import { Upstream } from "../../../../../controller/hcloud/sender.ts";
import { aBalancer } from "../../../../support/builders.ts";
import { reply, startServer, type TestServer } from "../../../../support/http-server.ts";

const BALANCER = aBalancer({ id: 77, name: "edge", labels: { team: "a" } });
const LABELS = { team: "a", "lotse/adopt-uid": "u" };

let ends: AsyncDisposableStack;
let status: number;
let api: TestServer;
let gateway: Gateway;
beforeEach(async () => {
  ends = new AsyncDisposableStack();
  status = 200;
  api = await startServer(({ method }, response) => {
    if (method === "GET") reply(response, { load_balancer: BALANCER });
    else reply(response, status === 200 ? {} : { error: { code: "forbidden", message: "read-only token" } }, status);
  });
  ends.defer(() => api.stop());
  const upstream = new Upstream({ endpoint: api.url, token: () => "t", userAgent: "test", timeoutMs: 2_000 });
  gateway = new Gateway(upstream, () => {});
  await gateway.start();
  ends.defer(() => gateway.stop());
});
afterEach(() => ends.disposeAsync());

const set = () =>
  setLabels(BALANCER, LABELS, { gateway, reader: new CloudReader(gateway), run: "adopt-1", deadlineMs: 2_000 });
const writes = () => api.received.filter(({ method }) => method !== "GET");

it("sets the labels of the load balancer, and nothing else", async () => {
  await set();
  expect(writes().map(({ method, path, body }) => [method, path, JSON.parse(body)])).toEqual([
    ["PUT", "/load_balancers/77", { labels: LABELS }],
  ]);
});

it("reports why the API refuses", async () => {
  status = 403;
  await expect(set()).rejects.toThrow("the labels could not be set: ");
  await expect(set()).rejects.toThrow("read-only token");
});

it("sends the credential of its run to no proxy, whatever the environment says", async () => {
  let connections = 0;
  const proxy = createServer().on("connection", (socket) => {
    connections += 1;
    socket.destroy();
  });
  proxy.listen(0, "127.0.0.1");
  ends.defer(() => void proxy.close());
  await new Promise((resolve) => proxy.once("listening", resolve));
  // As at the start of a process with NODE_USE_ENV_PROXY.
  ends.defer(setGlobalProxyFromEnv({ http_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }));
  await set();
  expect(writes()).toHaveLength(1);
  expect(connections).toBe(0);
});
