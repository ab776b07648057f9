import { expect, test } from "vitest";
import type { Cloud } from "../../../../dev-env/cloud/cloud.ts";
import { ManualClock } from "../../../../dev-env/cloud/state/clock.ts";
import { aBalancer, aCloud, call } from "./client.ts";

async function populate(cloud: Cloud): Promise<void> {
  const network = cloud.addNetwork();
  const server = cloud.addServer({ name: "node-1", network: network.id, labels: { a: "b" } });
  await aBalancer(cloud, {
    network: network.id,
    services: [{ protocol: "tcp", listen_port: 80, destination_port: 30080 }],
    targets: [{ type: "server", server: { id: server.id }, use_private_ip: true }],
  });
}

const everything = (cloud: Cloud) =>
  [cloud.state.servers, cloud.state.networks, cloud.state.loadBalancers].map((view) => view.values());

test("the same steps with a manual clock give the same cloud, including ids and times", async () => {
  const [one, two] = [await aCloud({ clock: new ManualClock() }), await aCloud({ clock: new ManualClock() })];
  await populate(one);
  await populate(two);
  expect(everything(two)).toEqual(everything(one));
  expect(two.url).not.toBe(one.url);
});

test("a snapshot restores everything, also in another cloud and through JSON", async () => {
  const cloud = await aCloud();
  await populate(cloud);
  const [snapshot, before] = [cloud.snapshot(), everything(cloud)];
  await call(cloud, `DELETE /servers/${cloud.state.servers.find("node-1")?.id}`);
  cloud.addServer({ name: "node-2" });
  expect(everything(cloud)).not.toEqual(before);
  cloud.restore(snapshot);
  expect(everything(cloud)).toEqual(before);
  const other = await aCloud();
  other.restore(JSON.parse(JSON.stringify(snapshot)));
  expect(everything(other)).toEqual(before);
  const ids = other.state.servers.ids();
  expect(ids).not.toContain(other.addServer({ name: "new" }).id);
});

test("running actions survive a snapshot and still take effect", async () => {
  const clock = new ManualClock();
  const cloud = await aCloud({ clock, actionMs: 1000 });
  const { id } = cloud.addServer({ name: "node-1" });
  await call(cloud, `POST /servers/${id}/actions/poweroff`);
  const snapshot = cloud.snapshot();
  clock.advance(5000);
  expect(cloud.state.servers.get(id)?.status).toBe("off");
  const later = new ManualClock();
  const other = await aCloud({ clock: later });
  other.restore(snapshot);
  expect(other.state.servers.get(id)?.status).toBe("stopping");
  later.advance(1000);
  expect(other.state.servers.get(id)?.status).toBe("off");
});

test("a rejected request changes nothing", async () => {
  const cloud = await aCloud();
  const network = cloud.addNetwork();
  const before = JSON.stringify(cloud.snapshot().tables);
  const request = { name: "node", server_type: "cx23", image: "ubuntu-24.04", networks: [network.id, network.id] };
  expect((await call(cloud, "POST /servers", request)).code).toBe("server_already_attached");
  expect(JSON.stringify(cloud.snapshot().tables)).toBe(before);
});
