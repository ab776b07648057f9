import { describe, expect, test } from "vitest";
import { ManualClock } from "../../../../dev-env/cloud/state/clock.ts";
import { aBalancer, aCloud, call } from "./client.ts";

const server = { name: "node-1", server_type: "cx23", image: "ubuntu-24.04", location: "fsn1" };

describe("actions", () => {
  test("run for their duration, then succeed and change the status of the server", async () => {
    const clock = new ManualClock();
    const cloud = await aCloud({ clock, actionMs: { create_server: 1000, start_server: 500 } });
    const { body } = await call(cloud, "POST /servers", server);
    expect(body.server).toMatchObject({ status: "initializing", locked: true });
    expect(body.action).toMatchObject({ command: "create_server", status: "running", progress: 0, finished: null });
    expect(body.next_actions).toMatchObject([{ command: "start_server", status: "running" }]);
    clock.advance(999);
    expect((await call(cloud, `GET /actions/${body.action.id}`)).body.action).toMatchObject({
      status: "running",
      progress: 99,
    });
    clock.advance(1);
    expect((await call(cloud, `GET /servers/${body.server.id}`)).body.server).toMatchObject({
      status: "off",
      locked: true,
    });
    clock.advance(500);
    const done = await call(cloud, `GET /servers/${body.server.id}`);
    expect(done.body.server).toMatchObject({ status: "running", locked: false });
    const actions = (await call(cloud, `GET /servers/${body.server.id}/actions?sort=id`)).body.actions;
    expect(actions).toMatchObject([
      { status: "success", progress: 100, error: null },
      { status: "success", finished: "2026-11-01T00:00:01Z" },
    ]);
  });

  test("end at once by default", async () => {
    const cloud = await aCloud();
    const { body } = await call(cloud, "POST /servers", server);
    expect(body.action.status).toBe("success");
    expect(cloud.state.servers.get(body.server.id)?.status).toBe("running");
  });

  test("cannot be listed without ids", async () => {
    const reply = await call(await aCloud(), "GET /actions");
    expect([reply.status, reply.code]).toEqual([410, "deprecated_api_endpoint"]);
  });

  test("lock the server while a firewall is applied because of a label", async () => {
    const clock = new ManualClock();
    const cloud = await aCloud({ clock, actionMs: 1000 });
    const scope = { type: "label_selector", label_selector: { selector: "wall=yes" } };
    await call(cloud, "POST /firewalls", { name: "wall", apply_to: [scope] });
    const { id } = cloud.addServer({ name: "node-1" });
    await call(cloud, `PUT /servers/${id}`, { labels: { wall: "yes" } });
    expect((await call(cloud, `POST /servers/${id}/actions/poweroff`)).code).toBe("locked");
    clock.advance(1000);
    expect((await call(cloud, `POST /servers/${id}/actions/poweroff`)).status).toBe(201);
  });

  test("U: with lingeringDeletes, a load balancer stays listed until the action ends", async () => {
    const clock = new ManualClock();
    const cloud = await aCloud({ clock, actionMs: 1000, lingeringDeletes: true });
    const lb = await aBalancer(cloud, { name: "lb" });
    await call(cloud, `DELETE /load_balancers/${lb.id}`);
    expect(cloud.state.loadBalancers.size).toBe(1);
    clock.advance(1000);
    expect(cloud.state.loadBalancers.size).toBe(0);
  });

  test("U: with conflictWhileActionRuns, a load balancer rejects writes while an action runs", async () => {
    const clock = new ManualClock();
    const cloud = await aCloud({ clock, actionMs: 1000, conflictWhileActionRuns: true });
    const lb = await aBalancer(cloud);
    const write = () => call(cloud, `POST /load_balancers/${lb.id}/actions/change_algorithm`, { type: "round_robin" });
    expect((await write()).code).toBe("conflict");
    clock.advance(1000);
    expect((await write()).status).toBe(201);
  });

  test("U: with attachLagMs, private targets are rejected for a while after the attachment", async () => {
    const clock = new ManualClock();
    const cloud = await aCloud({ clock, attachLagMs: 5000 });
    const network = cloud.addNetwork();
    const { id } = cloud.addServer({ name: "node-1", network: network.id });
    const lb = await aBalancer(cloud, { network: network.id });
    const target = { type: "server", server: { id }, use_private_ip: true };
    const add = () => call(cloud, `POST /load_balancers/${lb.id}/actions/add_target`, target);
    expect((await add()).code).toBe("load_balancer_not_attached_to_network");
    clock.advance(5000);
    expect((await add()).status).toBe(201);
  });
});
