import { describe, expect, test } from "vitest";
import { aCloud, call, type Json } from "./client.ts";

const WEB = { name: "www", type: "A", records: [{ value: "203.0.113.7", comment: "web" }] };
const ROOT = "/zones/example.com/rrsets";

async function aZone(rrsets: readonly object[] = [WEB]) {
  const cloud = await aCloud();
  const { body } = await call(cloud, "POST /zones", { name: "example.com", mode: "primary", rrsets });
  return { cloud, zone: body.zone as Json };
}

describe("zones", () => {
  test("have a SOA and three NS records, and are found by id and by name", async () => {
    const { cloud, zone } = await aZone([]);
    expect(zone).toMatchObject({ name: "example.com", ttl: 3600, record_count: 4, status: "ok" });
    const { rrsets } = (await call(cloud, `GET /zones/${zone.id}/rrsets?sort=id`)).body;
    expect(rrsets.map((set: Json) => set.id)).toEqual(["@/NS", "@/SOA"]);
    expect((await call(cloud, "GET /zones/example.com")).body.zone.id).toBe(zone.id);
    expect((await call(cloud, "GET /zones/example.org")).code).toBe("not_found");
  });

  test.each([
    ["a taken name", { name: "example.com" }, 409, "uniqueness_error"],
    ["a name in upper case", { name: "Example.org" }, 422, "invalid_input"],
    ["a name that ends with a dot", { name: "example.org." }, 422, "invalid_input"],
    ["a top level only", { name: "org" }, 422, "invalid_input"],
    ["too short a TTL", { ttl: 59 }, 422, "invalid_input"],
    ["a second SOA", { rrsets: [{ name: "@", type: "SOA", records: [{ value: "x" }] }] }, 409, "uniqueness_error"],
  ])("with %s are rejected as a whole", async (_case, fields, status, code) => {
    const { cloud } = await aZone([]);
    const reply = await call(cloud, "POST /zones", { name: "example.org", mode: "primary", ...fields });
    expect([reply.status, reply.code]).toEqual([status, code]);
    expect(cloud.state.zones.size).toBe(1);
    expect(cloud.state.rrsets()).toHaveLength(2);
  });

  test("take their record sets along when they are deleted, unless they are protected", async () => {
    const { cloud, zone } = await aZone();
    await call(cloud, `POST /zones/${zone.id}/actions/change_protection`, { delete: true });
    expect((await call(cloud, "DELETE /zones/example.com")).code).toBe("protected");
    await call(cloud, "POST /zones/example.com/actions/change_protection", { delete: false });
    expect((await call(cloud, "DELETE /zones/example.com")).status).toBe(201);
    expect(cloud.state.rrsets()).toEqual([]);
  });

  test("have no record sets of their own in secondary mode", async () => {
    const cloud = await aCloud();
    const { zone } = (await call(cloud, "POST /zones", { name: "example.com", mode: "secondary" })).body;
    expect(zone).toMatchObject({ record_count: 0, primary_nameservers: [] });
    const requests = {
      [`GET ${ROOT}`]: undefined,
      [`GET ${ROOT}/www/A`]: undefined,
      [`POST ${ROOT}`]: WEB,
      [`POST ${ROOT}/www/A/actions/add_records`]: { records: WEB.records },
      "POST /zones/example.com/actions/change_ttl": { ttl: 60 },
    };
    for (const [line, body] of Object.entries(requests))
      expect((await call(cloud, line, body)).code, line).toBe("incorrect_zone_mode");
  });
});

describe("record sets", () => {
  test.each([
    ["the same name and type", WEB, 409, "uniqueness_error"],
    ["the zone's name at the end", { ...WEB, name: "web.example.com" }, 422, "invalid_input"],
    ["upper case", { ...WEB, name: "WEB" }, 422, "invalid_input"],
    ["no address", { ...WEB, name: "web", records: [{ value: "2001:db8::1" }] }, 422, "invalid_input"],
    ["no IPv6 address", { name: "web", type: "AAAA", records: [{ value: "203.0.113.7" }] }, 422, "invalid_input"],
    ["no records", { ...WEB, name: "web", records: [] }, 422, "invalid_input"],
    ["a value twice", { ...WEB, name: "web", records: [...WEB.records, ...WEB.records] }, 422, "invalid_input"],
    ["an unknown type", { ...WEB, type: "SPF" }, 422, "invalid_input"],
  ])("with %s are rejected", async (_case, body, status, code) => {
    const { cloud } = await aZone();
    const reply = await call(cloud, `POST ${ROOT}`, body);
    expect([reply.status, reply.code]).toEqual([status, code]);
  });

  test("appear with their first record and disappear with their last", async () => {
    const { cloud } = await aZone([]);
    const act = (name: string, body: object) => call(cloud, `POST ${ROOT}/*.app/AAAA/actions/${name}`, body);
    const records = [{ value: "2001:db8::1" }];
    expect((await act("remove_records", { records })).code).toBe("not_found");
    expect((await act("add_records", { records, ttl: 60 })).status).toBe(201);
    expect((await act("add_records", { records })).code).toBe("invalid_input");
    expect((await act("add_records", { records: [{ value: "2001:db8::2" }], ttl: 61 })).code).toBe("invalid_input");
    expect((await act("remove_records", { records: [{ value: "2001:db8::2" }] })).code).toBe("not_found");
    expect((await call(cloud, `GET ${ROOT}/*.app/AAAA`)).body.rrset).toMatchObject({
      id: "*.app/AAAA",
      ttl: 60,
      records,
    });
    await act("remove_records", { records });
    expect((await call(cloud, `GET ${ROOT}/*.app/AAAA`)).code).toBe("not_found");
  });

  test("with protection keep their records, but may get labels and lose the protection", async () => {
    const { cloud } = await aZone();
    const act = (name: string, body: object) => call(cloud, `POST ${ROOT}/www/A/actions/${name}`, body);
    await act("change_protection", { change: true });
    const other = { records: [{ value: "203.0.113.8" }] };
    for (const action of ["add_records", "set_records", "remove_records"])
      expect((await act(action, other)).code).toBe("protected");
    expect((await act("change_ttl", { ttl: 60 })).code).toBe("protected");
    expect((await call(cloud, `DELETE ${ROOT}/www/A`)).code).toBe("protected");
    expect((await call(cloud, `PUT ${ROOT}/www/A`, { labels: { a: "b" } })).body.rrset.labels).toEqual({ a: "b" });
    await act("change_protection", { change: false });
    expect((await act("set_records", other)).status).toBe(201);
  });

  test("whose name has a percent sign that encodes nothing do not exist", async () => {
    const { cloud } = await aZone();
    expect((await call(cloud, `GET ${ROOT}/%zz/A`)).code).toBe("not_found");
  });
});
