import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KubeClient } from "../../../../controller/kube/client.ts";
import { Informer, type KubeObject, keyOf } from "../../../../controller/kube/informer.ts";
import { QuickClock } from "../../../support/clock.ts";
import { reply, startServer, type TestServer } from "../../../support/http-server.ts";
import { aLog } from "../../../support/log.ts";

interface Thing extends KubeObject {
  readonly value?: string;
}
const thing = (name: string, resourceVersion: string, value?: string): Thing => ({
  metadata: { name, namespace: "ns", uid: name, resourceVersion },
  ...(value !== undefined && { value }),
});

/** An API server that answers lists from `things` and keeps watches open until a test ends them. */
class FakeApi {
  things: readonly Thing[] = [];
  version = "10";
  /** What a list or a watch is answered with instead, once each, in order. */
  readonly surprises: ((response: ServerResponse) => void)[] = [];
  readonly #watches: ServerResponse[] = [];
  readonly #onWatch: (() => void)[] = [];

  answer(path: string, response: ServerResponse): void {
    const query = new URL(path, "http://x").searchParams;
    const isProbe = path === "/version";
    const surprise = isProbe ? undefined : this.surprises.shift();
    if (isProbe) reply(response, {});
    else if (surprise) surprise(response);
    else if (query.get("watch") === "true") this.#watch(response);
    else this.#list(query, response);
  }

  /** The next watch that is opened. */
  watched(): Promise<void> {
    return new Promise((resolve) => this.#onWatch.push(resolve));
  }

  send(type: string, object: unknown): void {
    this.#watches.at(-1)?.write(`${JSON.stringify({ type, object })}\n`);
  }

  end(): void {
    this.#watches.at(-1)?.end();
  }

  drop(): void {
    this.#watches.at(-1)?.destroy();
  }

  #watch(response: ServerResponse): void {
    response.writeHead(200).flushHeaders();
    this.#watches.push(response);
    for (const resolve of this.#onWatch.splice(0)) resolve();
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const start = Number(query.get("continue") ?? 0);
    const end = start + Number(query.get("limit"));
    const more = end < this.things.length ? { continue: String(end) } : {};
    reply(response, { metadata: { resourceVersion: this.version, ...more }, items: this.things.slice(start, end) });
  }
}

let api: FakeApi;
let server: TestServer;
let clock: QuickClock;
let client: KubeClient;
let informer: Informer<Thing>;
let changes: string[];
let backs: number[];
let lines: readonly Record<string, unknown>[];
let seen: PromiseWithResolvers<void>;

beforeEach(async () => {
  api = new FakeApi();
  server = await startServer(({ path }, response) => api.answer(path, response));
  clock = new QuickClock();
  client = new KubeClient({ server: new URL(server.url), credentials: async () => ({}) }, { timeoutMs: 2_000, clock });
  changes = [];
  backs = [];
  const logged = aLog();
  lines = logged.lines;
  seen = Promise.withResolvers<void>();
  const say = (object?: Thing) => (object ? `${object.metadata?.name}@${object.metadata?.resourceVersion}` : "–");
  informer = new Informer<Thing>({
    client,
    path: "/api/v1/things",
    clock,
    log: logged.log,
    onBack: (silentMs) => backs.push(silentMs),
    onChange: ({ old, now }) => {
      changes.push(`${say(old)} → ${say(now)}`);
      seen.resolve();
      seen = Promise.withResolvers<void>();
    },
  });
});
afterEach(async () => {
  await informer.stop();
  client.close();
  await server.stop();
});

/** Starts, and waits until the watch is open. */
async function start(...things: Thing[]): Promise<void> {
  api.things = things;
  const watched = api.watched();
  await informer.start();
  await watched;
}
const names = () => [...informer.items.keys()];
const lists = () => server.received.filter(({ path }) => path.startsWith("/api/") && !path.includes("watch=true"));
const watchVersions = () =>
  server.received
    .filter(({ path }) => path.includes("watch=true"))
    .map(({ path }) => new URL(path, "http://x").searchParams.get("resourceVersion"));

describe("the first list", () => {
  it("is complete before the copy counts as synced", async () => {
    expect(informer.isSynced).toBe(false);
    await start(thing("a", "1"), thing("b", "2"));
    expect(informer.isSynced).toBe(true);
    expect(names()).toEqual(["ns/a", "ns/b"]);
    expect(changes).toEqual(["– → a@1", "– → b@2"]);
    expect(watchVersions()).toEqual(["10"]);
  });

  it("is read page by page", async () => {
    await start(...Array.from({ length: 1_100 }, (_, index) => thing(`t${index}`, "1")));
    expect(informer.items.size).toBe(1_100);
    expect(lists().map(({ path }) => path.replace("/api/v1/things", ""))).toEqual([
      "?limit=500",
      "?limit=500&continue=500",
      "?limit=500&continue=1000",
    ]);
  });

  it("restarts when its second page has expired", async () => {
    api.surprises.push(
      (response) => reply(response, { metadata: { continue: "1" }, items: [thing("gone", "1")] }),
      (response) => reply(response, { message: "expired" }, 410),
    );
    await start(thing("a", "1"));
    expect(names()).toEqual(["ns/a"]);
  });

  it.each([403, 500])("is retried until it succeeds, after %d", async (status) => {
    api.surprises.push((response) => reply(response, { message: "no" }, status));
    await start(thing("a", "1"));
    expect(names()).toEqual(["ns/a"]);
  });
});

it.each([
  ["often while the server is ill", 500, 25, 0, 500],
  ["often while it may only have started", 403, 12, 0, 500],
  ["less and less often while it goes on refusing", 403, 25, 4_000, 10_000],
])("retries %s", async (_, status, length, least, most) => {
  api.surprises.push(...Array.from({ length }, () => (response: ServerResponse) => reply(response, {}, status)));
  await start(thing("a", "1"));
  expect(Math.max(...clock.pauses)).toBeGreaterThan(least);
  expect(Math.max(...clock.pauses)).toBeLessThanOrEqual(most);
});

describe("the watch", () => {
  it("follows additions, changes and deletions", async () => {
    await start(thing("a", "1"));
    for (const [type, object] of [
      ["ADDED", thing("b", "11")],
      ["MODIFIED", thing("a", "12", "new")],
      ["DELETED", thing("b", "13")],
    ] as const) {
      const change = seen.promise;
      api.send(type, object);
      await change;
    }
    expect(changes).toEqual(["– → a@1", "– → b@11", "a@1 → a@12", "b@11 → –"]);
    expect(informer.items.get("ns/a")?.value).toBe("new");
  });

  it.each([
    ["ends in order", () => api.end()],
    ["breaks", () => api.drop()],
  ])("resumes after the last event when it %s, without listing", async (_, interrupt) => {
    await start(thing("a", "1"));
    const change = seen.promise;
    api.send("MODIFIED", thing("a", "15"));
    await change;
    const again = api.watched();
    interrupt();
    await again;
    expect(watchVersions()).toEqual(["10", "15"]);
    expect(lists()).toHaveLength(1);
  });

  it("resumes after a bookmark, which changes nothing", async () => {
    await start(thing("a", "1"));
    const change = seen.promise;
    api.send("BOOKMARK", { metadata: { resourceVersion: "99" } });
    api.send("ADDED", thing("b", "98"));
    await change;
    api.send("BOOKMARK", { metadata: { resourceVersion: "100" } });
    const again = api.watched();
    api.end();
    await again;
    expect(watchVersions()).toEqual(["10", "100"]);
    expect(names()).toEqual(["ns/a", "ns/b"]);
  });

  it.each([
    ["an ERROR event", () => api.send("ERROR", { kind: "Status", code: 410, message: "too old" })],
    [
      "a refusal",
      () => {
        api.surprises.push((response) => reply(response, { message: "too old" }, 410));
        api.end();
      },
    ],
  ])("lists again when its version has expired, reported by %s, and notices what was missed", async (_, expire) => {
    await start(thing("stays", "1"), thing("changes", "2"), thing("goes", "3"));
    changes.length = 0;
    api.things = [thing("stays", "1"), thing("changes", "20"), thing("new", "21")];
    api.version = "30";
    clock.pauses.length = 0;
    const again = api.watched();
    expire();
    await again;
    expect(clock.pauses.length, "no pause but that after an orderly end").toBeLessThanOrEqual(1);
    expect(changes).toEqual(["goes@3 → –", "changes@2 → changes@20", "– → new@21"]);
    expect(names().toSorted()).toEqual(["ns/changes", "ns/new", "ns/stays"]);
    expect(watchVersions().at(-1)).toBe("30");
  });

  it("that expires right after a list does not cause endless lists", async () => {
    const tooOld = (response: ServerResponse) => reply(response, { message: "too old" }, 410);
    const list = (response: ServerResponse) => reply(response, { metadata: { resourceVersion: "10" }, items: [] });
    await start(thing("a", "1"));
    clock.pauses.length = 0;
    api.surprises.push(tooOld, list, tooOld, list, tooOld);
    const again = api.watched();
    api.end();
    await again;
    expect(clock.pauses).toHaveLength(3);
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(2);
  });

  it("resumes after an ERROR event of another kind", async () => {
    await start(thing("a", "1"));
    const again = api.watched();
    api.send("ERROR", { kind: "Status", code: 500, message: "internal" });
    await again;
    expect(lists()).toHaveLength(1);
  });

  it("is always short, to bound how long a dead connection goes unnoticed", async () => {
    await start(thing("a", "1"));
    for (let hour = 0; hour < 3; hour += 1) {
      const again = api.watched();
      api.end();
      await again;
    }
    const times = server.received
      .map(({ path }) => new URL(path, "http://x").searchParams.get("timeoutSeconds"))
      .filter((time) => time !== null);
    expect(times).toHaveLength(4);
    for (const time of times) expect(Number(time)).toBeGreaterThanOrEqual(10);
    for (const time of times) expect(Number(time)).toBeLessThanOrEqual(15);
    expect(lists()).toHaveLength(1);
  });

  it("is retried at least twice a second, however long the outage, and logs it at growing intervals", async () => {
    await start(thing("a", "1"));
    clock.pauses.length = 0;
    api.surprises.push(...Array.from({ length: 20 }, () => (response: ServerResponse) => reply(response, {}, 503)));
    const again = api.watched();
    api.drop();
    await again;
    expect(Math.max(...clock.pauses)).toBeLessThanOrEqual(500);
    const warnings = lines.filter(({ level }) => level === "warn").map(({ failures }) => failures);
    expect(warnings).toEqual([1, 2, 4, 8, 16]);
  });

  it("reports when it is open again after an interruption, and only then", async () => {
    await start(thing("a", "1"));
    for (const interrupt of [() => api.end(), () => api.drop(), () => api.end()]) {
      const again = api.watched();
      interrupt();
      await again;
    }
    await vi.waitFor(() => expect(backs).toHaveLength(1));
    expect(backs[0]).toBeLessThan(5_000);
  });

  it("that breaks after a while is a new interruption, which is logged and retried at once", async () => {
    const now = performance.now.bind(performance);
    let laterMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + laterMs);
    await start(thing("a", "1"));
    for (let interruption = 0; interruption < 6; interruption += 1) {
      const again = api.watched();
      laterMs += 2_000;
      api.drop();
      await again;
      await vi.waitFor(() => expect(backs).toHaveLength(interruption + 1));
    }
    clock.mockRestore();
    const warnings = lines.filter(({ level }) => level === "warn").map(({ failures }) => failures);
    expect(warnings).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it("notices another object under the same name", async () => {
    await start(thing("a", "1"));
    const change = seen.promise;
    api.send("MODIFIED", { metadata: { name: "a", namespace: "ns", uid: "another", resourceVersion: "12" } });
    await change;
    expect(informer.items.get("ns/a")?.metadata?.uid).toBe("another");
  });
});

describe("stopping", () => {
  it("ends the watch and sends no more requests", async () => {
    await start(thing("a", "1"));
    await informer.stop();
    const before = server.received.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.received).toHaveLength(before);
  });

  it("waits for no list that is not answered", async () => {
    const asked = new Promise<void>((resolve) => api.surprises.push(() => resolve()));
    void informer.start();
    await asked;
    const started = performance.now();
    await informer.stop();
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it("works before the first list has arrived", async () => {
    api.surprises.push(...Array.from({ length: 50 }, () => (response: ServerResponse) => reply(response, {}, 500)));
    void informer.start();
    await informer.stop();
    expect(informer.isSynced).toBe(false);
  });
});

it.each([
  [{ metadata: { name: "n", namespace: "ns" } }, "ns/n"],
  [{ metadata: { name: "n" } }, "n"],
  [{}, ""],
])("names an object by namespace and name", (object, key) => {
  expect(keyOf(object)).toBe(key);
});
