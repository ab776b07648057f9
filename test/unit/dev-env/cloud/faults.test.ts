import { describe, expect, test } from "vitest";
import { aBalancer, aCloud, call } from "./client.ts";

const network = { name: "n", ip_range: "10.0.0.0/16" };
const tcp = { protocol: "tcp", listen_port: 80, destination_port: 80 };

describe("faults", () => {
  test("an error affects only matching requests, with `skip` and `times`", async () => {
    const cloud = await aCloud();
    const effect = { kind: "error", code: "unavailable" } as const;
    const fault = cloud.faults.add({ method: "GET", path: "/servers/*", skip: 1, times: 2, effect });
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await call(cloud, "GET /servers/7")).status);
    expect(statuses).toEqual([404, 503, 503, 404, 404]);
    expect((await call(cloud, "GET /servers")).status).toBe(200);
    expect(fault.struck).toBe(2);
  });

  test.each([
    ["rate_limit_exceeded", 429],
    ["conflict", 409],
    ["locked", 423],
    ["bad_gateway", 502],
    ["timeout", 504],
  ])("%s is sent with status %i", async (code, status) => {
    const cloud = await aCloud();
    cloud.faults.add({ effect: { kind: "error", code } });
    const reply = await call(cloud, "GET /servers");
    expect([reply.status, reply.code]).toEqual([status, code]);
  });

  test("a short list omits entries and does not count them; they can still be read by id", async () => {
    const cloud = await aCloud();
    const [first, second] = [await aBalancer(cloud, { name: "a" }), await aBalancer(cloud, { name: "b" })];
    cloud.faults.add({ path: "/load_balancers", times: 1, effect: { kind: "short-list", ids: [first.id] } });
    const { body } = await call(cloud, "GET /load_balancers");
    expect(body.load_balancers.map(({ id }: { id: number }) => id)).toEqual([second.id]);
    expect(body.meta.pagination.total_entries).toBe(1);
    expect((await call(cloud, `GET /load_balancers/${first.id}`)).status).toBe(200);
    expect((await call(cloud, "GET /load_balancers")).body.load_balancers).toHaveLength(2);
  });

  test("a connection is dropped before or after the change", async () => {
    const cloud = await aCloud();
    cloud.faults.add({ method: "POST", times: 1, effect: { kind: "drop" } });
    await expect(call(cloud, "POST /networks", network)).rejects.toThrow();
    expect(cloud.state.networks.size).toBe(0);
    cloud.faults.add({ method: "POST", times: 1, effect: { kind: "drop", after: true } });
    await expect(call(cloud, "POST /networks", network)).rejects.toThrow();
    expect(cloud.state.networks.size).toBe(1);
    expect(cloud.journal.entries.map(({ status }) => status)).toEqual([0, 0]);
  });

  test("a 504 can hide a change that was made", async () => {
    const cloud = await aCloud();
    cloud.faults.add({ method: "POST", times: 1, effect: { kind: "error", code: "timeout", after: true } });
    expect((await call(cloud, "POST /networks", network)).status).toBe(504);
    expect((await call(cloud, "POST /networks", network)).code).toBe("uniqueness_error");
  });

  test("a failed action changes nothing, a failed creation leaves its resource", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const failed = { kind: "failed-action", code: "action_failed", message: "no luck" } as const;
    cloud.faults.add({ path: "/load_balancers/*/actions/add_service", effect: failed });
    const reply = await call(cloud, `POST /load_balancers/${lb.id}/actions/add_service`, tcp);
    expect(reply.status).toBe(201);
    const action = await call(cloud, `GET /actions/${reply.body.action.id}`);
    expect(action.body.action).toMatchObject({ status: "error", error: { code: "action_failed", message: "no luck" } });
    expect(cloud.state.loadBalancers.get(lb.id)?.services).toEqual([]);
    cloud.faults.add({ path: "/load_balancers", method: "POST", effect: failed });
    await aBalancer(cloud);
    expect(cloud.state.loadBalancers.size).toBe(2);
  });

  test("a failed deletion changes nothing", async () => {
    const cloud = await aCloud();
    const network = cloud.addNetwork();
    const [first] = ["a", "b", "c"].map((name) => cloud.addServer({ name, network: network.id }));
    const before = cloud.state.servers.values();
    cloud.faults.add({ method: "DELETE", effect: { kind: "failed-action", code: "action_failed" } });
    const reply = await call(cloud, `DELETE /servers/${first?.id}`);
    expect(cloud.state.actions.get(reply.body.action.id)?.status).toBe("error");
    expect(cloud.state.servers.values()).toEqual(before);
  });

  test("a stuck action runs until a test ends it, a slow action for the given time", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const add = (port: number) =>
      call(cloud, `POST /load_balancers/${lb.id}/actions/add_service`, { ...tcp, listen_port: port });
    cloud.faults.add({ times: 1, effect: { kind: "stuck-action" } });
    const stuck = (await add(1)).body.action.id;
    expect(cloud.state.actions.get(stuck)?.status).toBe("running");
    cloud.finishAction(stuck);
    expect(cloud.state.actions.get(stuck)?.status).toBe("success");
    cloud.faults.add({ times: 1, effect: { kind: "slow-action", ms: 60_000 } });
    expect((await add(2)).body.action.status).toBe("running");
  });

  test("requests can be delayed, and a token made read-only", async () => {
    const cloud = await aCloud();
    cloud.faults.add({ path: "/locations", effect: { kind: "latency", ms: 40 } });
    const before = performance.now();
    await call(cloud, "GET /locations");
    expect(performance.now() - before).toBeGreaterThan(38);
    cloud.faults.add({ effect: { kind: "read-only" } });
    expect((await call(cloud, "GET /servers")).status).toBe(200);
    expect((await call(cloud, "POST /networks", network)).code).toBe("forbidden");
  });

  test("the control endpoint offers the same to other processes", async () => {
    const cloud = await aCloud();
    const control = async (method: string, path: string, body?: object) => {
      const init = body ? { method, body: JSON.stringify(body) } : { method };
      const response = await fetch(new URL(`/_control/${path}`, cloud.url), init);
      return { status: response.status, text: await response.text() };
    };
    const fault = { path: "/servers", times: 1, effect: { kind: "error", code: "conflict" } };
    expect((await control("POST", "faults", fault)).status).toBe(201);
    expect((await control("POST", "faults", { effect: { kind: "earthquake" } })).status).toBe(422);
    expect((await call(cloud, "GET /servers")).code).toBe("conflict");
    expect(JSON.parse((await control("GET", "faults")).text).faults).toMatchObject([{ struck: 1 }]);
    expect(JSON.parse((await control("GET", "journal")).text).entries).toHaveLength(1);
    await control("DELETE", "journal");
    await control("DELETE", "faults");
    expect([cloud.journal.entries, cloud.faults.list()]).toEqual([[], []]);
    const server = cloud.addServer({ name: "node-1" });
    const services = [{ protocol: "tcp", listen_port: 80, destination_port: 80 }];
    const lb = await aBalancer(cloud, { services, targets: [{ type: "server", server: { id: server.id } }] });
    await control("PUT", "health", { target: server.id, status: "unhealthy" });
    const sick = { health_status: [{ status: "unhealthy" }] };
    expect(cloud.state.loadBalancers.get(lb.id)?.targets[0]).toMatchObject(sick);
    expect((await control("GET", "nothing")).status).toBe(404);
  });
});
