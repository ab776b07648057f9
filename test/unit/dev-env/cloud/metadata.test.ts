import { expect, test } from "vitest";
import { aCloud, call } from "./client.ts";

test("a server reads its metadata as text, by id or name", async () => {
  const cloud = await aCloud();
  const network = cloud.addNetwork();
  const { id, public_net } = cloud.addServer({ name: "node-1", network: network.id, location: "nbg1" });
  const read = async (path: string) => {
    const response = await fetch(new URL(`/_metadata/${path}`, cloud.url));
    return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
  };
  expect(await read(`${id}/hetzner/v1/metadata/hostname`)).toEqual({
    status: 200,
    type: "text/plain; charset=utf-8",
    text: "node-1",
  });
  expect((await read("node-1/hetzner/v1/metadata/instance-id")).text).toBe(String(id));
  expect((await read("node-1/hetzner/v1/metadata")).text).toContain(`public-ipv4: ${public_net.ipv4?.ip}\n`);
  expect((await read("node-1/hetzner/v1/metadata/private-networks")).text).toContain("- ip: 10.0.1.1\n");
  for (const wrong of [
    "node-2/hetzner/v1/metadata",
    "node-1/hetzner/v1/metadata/colour",
    "%zz/hetzner/v1/metadata",
    "",
  ]) {
    expect((await read(wrong)).status).toBe(404);
  }
});

test("user data is that of the creation request", async () => {
  const cloud = await aCloud();
  const request = { name: "node-1", server_type: "cx23", image: "ubuntu-24.04", user_data: "#cloud-config\n" };
  await call(cloud, "POST /servers", request);
  const response = await fetch(new URL("/_metadata/node-1/hetzner/v1/userdata", cloud.url));
  expect(await response.text()).toBe("#cloud-config\n");
});
