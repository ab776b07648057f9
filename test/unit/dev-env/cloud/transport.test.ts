import { describe, expect, test } from "vitest";
import { ManualClock } from "../../../../dev-env/cloud/state/clock.ts";
import { aBalancer, aCloud, call } from "./client.ts";

describe("transport", () => {
  test.each([
    ["an unknown path, before the token is looked at", "GET /nothing", "", 404, "api route not found"],
    ["no token", "GET /servers", "", 401, "token is required"],
    ["a token of the wrong length", "GET /servers", "Bearer short", 401, "the token you have provided is invalid"],
    ["a wrong method without token", "PATCH /servers", "", 401, "token is required"],
    ["a wrong method with token", "PATCH /servers", `Bearer ${"x".repeat(64)}`, 405, "method not allowed"],
  ])("%s", async (_case, line, authorization, status, message) => {
    const reply = await call(await aCloud(), line, undefined, { authorization });
    expect([reply.status, reply.message]).toEqual([status, message]);
  });

  test("if a token is set, no other is valid", async () => {
    const cloud = await aCloud({ token: "t".repeat(64) });
    expect((await call(cloud, "GET /locations")).status).toBe(200);
    const other = { authorization: `Bearer ${"x".repeat(64)}` };
    expect((await call(cloud, "GET /locations", undefined, other)).code).toBe("unauthorized");
  });

  test.each([
    ["malformed JSON", "{", 400, "json_error"],
    ["a body of two megabytes", `{"name": "${"x".repeat(2 ** 21)}"}`, 400, "json_error"],
    ["no object", "[]", 422, "invalid_input"],
    ["null", "null", 422, "invalid_input"],
    ["nothing", "", 422, "invalid_input"],
    ["a wrong type", '{"name": 1, "ip_range": "10.0.0.0/16"}', 422, "invalid_input"],
    ["an unknown field", '{"name": "n", "ip_range": "10.0.0.0/16", "colour": "red"}', 422, "invalid_input"],
  ])("%s in a body is %s %s", async (_case, body, status, code) => {
    const reply = await call(await aCloud(), "POST /networks", body);
    expect([reply.status, reply.code]).toEqual([status, code]);
  });

  test("all invalid fields are reported at once, by path", async () => {
    const subnets = [{ type: "cloud", network_zone: "eu-central", ip_range: "x" }];
    const reply = await call(await aCloud(), "POST /networks", { name: "", subnets });
    expect(reply.message).toBe("invalid input in fields 'name', 'ip_range', 'subnets'");
    expect(reply.body.error.details.fields).toEqual([
      { name: "name", messages: ["Must be between 1 and 128."] },
      { name: "ip_range", messages: ["Missing data for required field."] },
      { name: "subnets.0.ip_range", messages: ["Must be a CIDR."] },
    ]);
  });

  test("the bucket refills one request per second, and Reset says when it is full", async () => {
    const clock = new ManualClock();
    const cloud = await aCloud({ clock, rateLimit: { perHour: 3600 } });
    const headersOf = async () => {
      const { headers } = await call(cloud, "GET /locations");
      return [headers.get("ratelimit-remaining"), Number(headers.get("ratelimit-reset")) - clock.now() / 1000];
    };
    expect(await headersOf()).toEqual(["3599", 1]);
    expect(await headersOf()).toEqual(["3598", 2]);
    clock.advance(60_000);
    expect(await headersOf()).toEqual(["3599", 1]);
  });

  test("requests without a token count, too", async () => {
    const cloud = await aCloud({ rateLimit: { perHour: 1 } });
    await call(cloud, "GET /locations", undefined, { authorization: "" });
    expect((await call(cloud, "GET /locations")).code).toBe("rate_limit_exceeded");
  });

  test("latency delays every response, including errors", async () => {
    const cloud = await aCloud({ latencyMs: 40 });
    for (const line of ["GET /locations", "GET /nothing"]) {
      const before = performance.now();
      await call(cloud, line);
      expect(performance.now() - before).toBeGreaterThan(38);
    }
  });

  test("the journal has method, path, route, status, code, caller and run of every request", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    cloud.journal.clear();
    await call(cloud, `GET /load_balancers/${lb.id}`, undefined, { "user-agent": "me/1", "x-lotse-run": "run-7" });
    await call(cloud, `POST /load_balancers/${lb.id}/actions/delete_service`, { listen_port: 1 });
    expect(cloud.journal.entries).toMatchObject([
      { method: "GET", route: "/load_balancers/{}", status: 200, caller: "me/1", run: "run-7" },
      { method: "POST", route: "/load_balancers/{}/actions/delete_service", status: 404, code: "not_found" },
    ]);
    expect(cloud.journal.count({ run: "run-7" })).toBe(1);
    expect(cloud.journal.count({ path: "/load_balancers/*/actions/*" })).toBe(1);
    expect(cloud.journal.writes).toHaveLength(1);
    expect([...cloud.journal.tally()]).toContainEqual(["GET /load_balancers/{}", 1]);
  });
});
