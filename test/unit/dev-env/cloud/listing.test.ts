import { describe, expect, test } from "vitest";
import { aCloud, call, type Json } from "./client.ts";

async function aFullCloud(count: number) {
  const cloud = await aCloud();
  for (let n = 1; n <= count; n += 1) {
    cloud.addServer({
      name: `s-${n}`,
      labels: { parity: n % 2 ? "odd" : "even" },
      status: n === 1 ? "off" : "running",
    });
  }
  return cloud;
}

const names = (reply: Json) => reply.body.servers.map(({ name }: { name: string }) => name);

describe("lists", () => {
  test("have pages of 25, with neighbours in meta and in the Link header", async () => {
    const cloud = await aFullCloud(60);
    const middle = await call(cloud, "GET /servers?page=2");
    expect(middle.body.servers).toHaveLength(25);
    expect(middle.body.meta.pagination).toEqual({
      page: 2,
      per_page: 25,
      previous_page: 1,
      next_page: 3,
      last_page: 3,
      total_entries: 60,
    });
    const link = middle.headers.get("link") ?? "";
    expect(link).toBe(
      ['1>; rel="prev"', '3>; rel="next"', '3>; rel="last"']
        .map((end) => `<${cloud.url}/servers?page=${end}`)
        .join(", "),
    );
  });

  test("are empty beyond the end, and if nothing matches", async () => {
    const cloud = await aFullCloud(3);
    expect((await call(cloud, "GET /servers?page=9")).body).toMatchObject({
      servers: [],
      meta: { pagination: { next_page: null } },
    });
    const none = await call(cloud, "GET /servers?name=nobody");
    expect(none.body.meta.pagination).toMatchObject({ last_page: 1, total_entries: 0, previous_page: null });
  });

  test("limit per_page to 50", async () => {
    const cloud = await aFullCloud(60);
    expect((await call(cloud, "GET /servers?per_page=500")).body.servers).toHaveLength(50);
  });

  test("are sorted by all sort parameters, the first being the most significant", async () => {
    const cloud = await aFullCloud(12);
    expect(names(await call(cloud, "GET /servers?sort=name:desc&per_page=3"))).toEqual(["s-9", "s-8", "s-7"]);
    expect(names(await call(cloud, "GET /servers?sort=created&sort=id:desc&per_page=2"))).toEqual(["s-12", "s-11"]);
  });

  test("are filtered by name, label selector and status together", async () => {
    const cloud = await aFullCloud(6);
    expect(names(await call(cloud, "GET /servers?label_selector=parity%3Dodd"))).toEqual(["s-1", "s-3", "s-5"]);
    expect(names(await call(cloud, "GET /servers?label_selector=parity%3Dodd&status=off&status=starting"))).toEqual([
      "s-1",
    ]);
    expect(names(await call(cloud, "GET /servers?name=s-2"))).toEqual(["s-2"]);
  });

  test.each(["page=0", "page=x", "per_page=-1", "sort=color", "sort=id:up", "sort=id:asc:x", "label_selector=a%20b"])(
    "%s is invalid input",
    async (query) => {
      const reply = await call(await aCloud(), `GET /servers?${query}`);
      expect([reply.status, reply.code]).toEqual([422, "invalid_input"]);
    },
  );

  test("hide deprecated images unless requested, and have one image per architecture", async () => {
    const cloud = await aCloud();
    expect((await call(cloud, "GET /images?name=debian-11")).body.images).toEqual([]);
    expect((await call(cloud, "GET /images?name=debian-11&include_deprecated=true")).body.images).toHaveLength(1);
    const arm = await call(cloud, "GET /images?name=ubuntu-24.04&architecture=arm");
    expect(arm.body.images).toMatchObject([{ architecture: "arm" }]);
  });
});
