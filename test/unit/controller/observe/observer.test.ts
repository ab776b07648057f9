import type { ServerResponse } from "node:http";
import { afterEach, expect, it, vi } from "vitest";
import { KubeClient } from "../../../../controller/kube/client.ts";
import { KubeObserver } from "../../../../controller/observe/watches.ts";
import { reply, startServer, type TestServer } from "../../../support/http-server.ts";
import { aLog } from "../../../support/log.ts";

let server: TestServer | undefined;
let observer: KubeObserver | undefined;
let client: KubeClient | undefined;
afterEach(async () => {
  await observer?.stop();
  client?.close();
  await server?.stop();
});

/** An observer of an API server that holds back the list of Services until it is told to give it. */
async function anObserver(staleMs?: number) {
  const changes: string[] = [];
  const watches: ServerResponse[] = [];
  const back = vi.fn();
  const held = Promise.withResolvers<ServerResponse>();
  const list = (name: string) => ({
    metadata: { resourceVersion: "1" },
    items: [{ metadata: { name, uid: name, resourceVersion: "1" } }],
  });
  server = await startServer(({ path }, response) => {
    if (path.includes("watch=true")) {
      watches.push(response);
      response.writeHead(200).flushHeaders();
    } else if (path === "/version") reply(response, {});
    else if (path.startsWith("/api/v1/services")) held.resolve(response);
    else reply(response, list("node"));
  });
  client = new KubeClient({ server: new URL(server.url), credentials: async () => ({}) });
  observer = new KubeObserver({
    client,
    log: aLog().log,
    onNode: ({ now }) => changes.push(`node ${now?.metadata?.name}`),
    onService: ({ now }) => changes.push(`service ${now?.metadata?.name}`),
    onBack: back,
    ...(staleMs !== undefined && { staleMs }),
  });
  return { observer, changes, watches, back, giveServices: async () => reply(await held.promise, list("service")) };
}

it("reports no change before both lists have arrived, because absence would look like deletion", async () => {
  const { observer: seen, changes, giveServices } = await anObserver();
  const started = seen.start();
  await giveServices();
  await started;
  expect(changes).toEqual([]);
  expect([seen.nodes(), seen.services()]).toMatchObject([
    [{ metadata: { name: "node" } }],
    [{ metadata: { name: "service" } }],
  ]);
});

it("throws rather than return stale objects, but counts them", async () => {
  const { observer: seen, giveServices } = await anObserver(-1);
  const started = seen.start();
  await giveServices();
  await started;
  expect(() => seen.nodes()).toThrow("no contact with the API server for 0 s: no changes until it responds again");
  expect(seen.counts).toEqual({ nodes: 1, services: 1 });
});

it("says why its lists must not be acted on", async () => {
  const { observer: seen, giveServices } = await anObserver(60_000);
  expect(seen.staleness()).toBe("the initial lists have not arrived yet");
  const started = seen.start();
  await giveServices();
  await started;
  expect(seen.staleness()).toBeUndefined();
  expect(Object.keys(seen.agesMs())).toEqual(["nodes", "services"]);
});

it("is not ready when one of the watches is silent", async () => {
  const { observer: seen, giveServices } = await anObserver(-1);
  const started = seen.start();
  await giveServices();
  await started;
  expect(seen.staleness()).toBe("no contact with the API server for 0 s");
});

it("reports that the API server is back after an outage, not after every interruption", async () => {
  const { observer: seen, giveServices, watches, back } = await anObserver();
  const started = seen.start();
  await giveServices();
  await started;
  const open = () => watches.filter(({ destroyed }) => !destroyed).length;
  const now = performance.now.bind(performance);
  let awayMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + awayMs);
  for (const [ms, calls] of [
    [1_000, 0],
    [20_000, 2],
  ] as const) {
    await vi.waitFor(() => expect(open()).toBe(2));
    awayMs += ms;
    for (const watch of watches) watch.destroy();
    await vi.waitFor(() => expect(open()).toBe(2), { timeout: 5_000 });
    await vi.waitFor(() => expect(back).toHaveBeenCalledTimes(calls));
  }
  clock.mockRestore();
});
