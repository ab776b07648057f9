import { describe, expect, it } from "vitest";
import type { ApiResponse } from "../../../../controller/hcloud/exchange.ts";
import { ReadCache } from "../../../../controller/hcloud/read-cache.ts";

const answer = (body: string, status = 200): ApiResponse => ({ status, headers: {}, body });

/** A cache with a clock that stands still, and a reader that numbers its answers. */
function aCache() {
  const time = { now: 0 };
  const cache = new ReadCache(() => time.now);
  let asked = 0;
  const get = (path = "/servers/1", resource: string | undefined = "servers/1", status = 200) =>
    cache.get(path, resource, 10, async () => answer(`answer ${++asked}`, status)).then(({ body }) => body);
  return { time, cache, get };
}

describe("the read cache", () => {
  it("sends one request for equal reads in flight, and for a while after", async () => {
    const { get, time } = aCache();
    expect(await Promise.all([get(), get()])).toEqual(["answer 1", "answer 1"]);
    time.now = 9;
    expect(await get()).toBe("answer 1");
    time.now = 10;
    expect(await get()).toBe("answer 2");
  });

  it("requests each path separately", async () => {
    const { get } = aCache();
    expect([await get("/a"), await get("/b")]).toEqual(["answer 1", "answer 2"]);
  });

  it("drops all entries of a resource that is written to, and no others", async () => {
    const { get, cache } = aCache();
    await get("/servers/1", "servers/1");
    await get("/servers/1?x", "servers/1");
    await get("/servers/2", "servers/2");
    cache.forget("servers/1");
    expect(await get("/servers/1", "servers/1")).toBe("answer 4");
    expect(await get("/servers/1?x", "servers/1")).toBe("answer 5");
    expect(await get("/servers/2", "servers/2")).toBe("answer 3");
  });

  it("does not serve a response that was in flight when its resource was written to", async () => {
    const { cache } = aCache();
    const slow = Promise.withResolvers<ApiResponse>();
    const first = cache.get("/a", "a/1", 10, () => slow.promise);
    cache.forget("a/1");
    const second = cache.get("/a", "a/1", 10, async () => answer("new"));
    slow.resolve(answer("old"));
    expect((await first).body).toBe("old");
    expect((await second).body).toBe("new");
    expect((await cache.get("/a", "a/1", 10, async () => answer("newer"))).body).toBe("new");
  });

  it("knows the age of a response from its arrival on", async () => {
    const { cache, time } = aCache();
    const slow = Promise.withResolvers<ApiResponse>();
    const read = cache.get("/a", "a/1", 10, () => slow.promise);
    time.now = 5;
    expect([cache.ageMs("/a"), cache.ageMs("/b")]).toEqual([0, 0]);
    slow.resolve(answer("late"));
    await read;
    time.now = 8;
    expect(cache.ageMs("/a")).toBe(3);
  });

  it.each([404, 500])("does not cache a response with status %d", async (status) => {
    const { get } = aCache();
    await get("/a", "a/1", status);
    expect(await get("/a", "a/1", 200)).toBe("answer 2");
  });

  it("does not cache a failure, which all waiting callers get", async () => {
    const { cache, get } = aCache();
    const fail = () => cache.get("/servers/1", "servers/1", 10, () => Promise.reject(new Error("lost")));
    const [a, b] = [fail(), fail()];
    await expect(a).rejects.toThrow("lost");
    await expect(b).rejects.toThrow("lost");
    expect(await get()).toBe("answer 1");
  });

  it("serves what is known from elsewhere", async () => {
    const { cache, get, time } = aCache();
    cache.prime("/servers/1", "servers/1", 10, () => answer("listed"));
    expect(await get()).toBe("listed");
    time.now = 10;
    expect(await get()).toBe("answer 1");
  });

  it("drops expired entries and keeps the others", async () => {
    const { cache, get, time } = aCache();
    await get("/old");
    time.now = 5;
    await get("/young");
    time.now = 10;
    cache.sweep();
    expect(await get("/young")).toBe("answer 2");
    expect(await get("/old")).toBe("answer 3");
  });
});
