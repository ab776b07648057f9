import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { built, type DevEnv, NOTHING, startDevEnv } from "../support/dev-env.ts";

const server = (env: DevEnv, name: string) => env.cloud.state.servers.find(name);

async function userData(env: DevEnv, name: string): Promise<string> {
  const response = await fetch(new URL(`/_metadata/${name}/hetzner/v1/userdata`, env.cloud.url));
  return response.text();
}

async function post(env: DevEnv, path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${env.cloud.token}`, "content-type": "application/json" };
  const response = await fetch(env.cloud.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  expect(response.ok, await response.text()).toBe(true);
}

async function remove(env: DevEnv, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${env.cloud.token}` };
  const response = await fetch(env.cloud.url + path, { method: "DELETE", headers });
  expect(response.ok, await response.text()).toBe(true);
}

/** Several runs of the engine each: on a busy machine that takes its time. */
const PATIENT = { timeout: 300_000 };

describe("the cloud half of a development environment", PATIENT, () => {
  test("is built, left alone when nothing changes, grown, shrunk, and removed without a trace", async () => {
    await using env = await startDevEnv();
    const { controlPlane, networkId } = await env.up();
    expect(env.counts()).toEqual(built(3));
    expect(env.cloud.state.networks.get(Number(networkId))).toMatchObject({
      name: "dev-network",
      ip_range: "10.0.0.0/8",
      subnets: [{ ip_range: "10.0.0.0/24", network_zone: "eu-central", type: "cloud" }],
    });
    expect(server(env, "dev-control-plane")).toMatchObject({
      id: Number(controlPlane.id),
      status: "running",
      server_type: { name: "cx23" },
      location: { name: "fsn1" },
      labels: { "lotse-dev-env": "dev" },
      public_net: { ipv4: { ip: controlPlane.ipv4 } },
      private_net: [{ network: Number(networkId), ip: "10.0.0.2" }],
    });
    expect(server(env, "dev-worker-2")).toMatchObject({ private_net: [{ ip: "10.0.0.12" }] });
    expect(env.cloud.state.placementGroups.find("dev-placement-group")).toMatchObject({ type: "spread" });
    expect(env.cloud.state.placementGroups.find("dev-placement-group")?.servers).toHaveLength(3);
    const { rules, applied_to } = env.cloud.state.firewalls.find("dev-firewall") ?? {};
    expect(applied_to).toHaveLength(3);
    expect(rules?.map(({ direction, protocol, port }) => `${direction} ${protocol} ${port ?? ""}`).toSorted()).toEqual([
      "in icmp ",
      "in tcp 22",
      "in tcp 6443",
    ]);

    const writes = env.cloud.journal.writes.length;
    await env.up();
    expect(env.cloud.journal.writes).toHaveLength(writes);

    await env.up({ workers: "3", allowFrom: "198.51.100.0/24" });
    expect(env.lines.toSorted()).toEqual(["firewall changed", "server worker-3 created"]);
    await env.up({ workers: "1" });
    expect(env.counts()).toEqual(built(2));
    await env.up({ workers: "1", workerType: "cx33" });
    expect(env.lines.toSorted()).toEqual(["server worker-1 created anew", "server worker-1 deleted"]);
    expect(server(env, "dev-worker-1")).toMatchObject({ status: "running", server_type: { name: "cx33" } });
    expect(server(env, "dev-control-plane")?.id).toBe(Number(controlPlane.id));

    await env.down();
    expect(env.counts()).toEqual(NOTHING);
    await env.down();
    expect(env.counts()).toEqual(NOTHING);
  });

  test("gives its machines what to do on their first boot, and keeps its secrets out of the state", async () => {
    await using env = await startDevEnv();
    const { controlPlane } = await env.up({ workers: "1", k3sChannel: "v1.34" });
    const secrets = await env.folder.secrets("dev");
    const boot = parse(await userData(env, "dev-control-plane"));
    expect(boot.ssh_keys.ed25519_private).toBe(secrets.hostKey.privateKey);
    expect(parse(boot.write_files[0].content)).toMatchObject({ "disable-cloud-controller": true });
    expect(boot.write_files[1].content).toContain("INSTALL_K3S_CHANNEL=v1.34");
    const worker = parse(await userData(env, "dev-worker-1"));
    expect(parse(worker.write_files[0].content)).toMatchObject({
      server: "https://10.0.0.2:6443",
      "node-ip": "10.0.0.11",
    });
    expect(worker.write_files[1].content).toContain(`joins server ${controlPlane.id}`);

    const state = join(env.folder.cloud, "state", ".pulumi", "stacks", "lotse", "dev-cloud.json");
    const text = await readFile(state, "utf8");
    expect(text).toContain("dev-worker-1");
    for (const secret of [env.cloud.token, secrets.k3sToken, "OPENSSH PRIVATE KEY"]) expect(text).not.toContain(secret);
  });

  test("takes along what a controller inside it left behind, and nothing of another cluster's", async () => {
    await using env = await startDevEnv();
    const other = env.cloud.addNetwork({ name: "other" });
    const { networkId } = await env.up({ workers: "0" });
    const labels = { "hcloud-ccm/service-uid": "4711" };
    await post(env, "/certificates", { name: "cert", type: "managed", domain_names: ["www.example.com"], labels });
    const certificates = [env.cloud.state.certificates.find("cert")?.id];
    const https = {
      protocol: "https",
      listen_port: 443,
      destination_port: 80,
      proxyprotocol: false,
      http: { certificates },
    };
    const balancer = { load_balancer_type: "lb11", location: "fsn1", labels };
    await post(env, "/load_balancers", { ...balancer, name: "ours", network: Number(networkId), services: [https] });
    await post(env, "/load_balancers", { ...balancer, name: "theirs", network: other.id });

    await env.up({ workers: "0" });
    expect(env.cloud.state.loadBalancers.size).toBe(2);
    await env.down();
    expect(env.counts()).toEqual({ ...NOTHING, networks: 1, loadBalancers: 1 });
    expect(env.cloud.state.loadBalancers.find("theirs")).toBeDefined();
  });

  test("repairs what was deleted by hand; a new control plane gets new workers", async () => {
    await using env = await startDevEnv();
    await env.up({ workers: "1" });
    const [control, worker] = [server(env, "dev-control-plane")?.id, server(env, "dev-worker-1")?.id];
    await remove(env, `/servers/${worker}`);
    await env.up({ workers: "1" });
    expect(server(env, "dev-worker-1")?.id).toBeGreaterThan(worker ?? 0);
    expect(server(env, "dev-control-plane")?.id).toBe(control);

    const second = server(env, "dev-worker-1")?.id;
    await remove(env, `/servers/${control}`);
    const { controlPlane } = await env.up({ workers: "1" });
    expect(Number(controlPlane.id)).toBeGreaterThan(control ?? 0);
    expect(server(env, "dev-worker-1")?.id).toBeGreaterThan(second ?? 0);
    expect(await userData(env, "dev-worker-1")).toContain(`joins server ${controlPlane.id}`);
    expect(env.counts()).toEqual(built(2));

    await remove(env, `/servers/${controlPlane.id}`);
    await env.down();
    expect(env.counts()).toEqual(NOTHING);
  });

  test("says in a line what the cloud refused, and goes on when it no longer does", async () => {
    await using env = await startDevEnv();
    const limit = { kind: "error", code: "resource_limit_exceeded", message: "server limit exceeded" } as const;
    env.cloud.faults.add({ method: "POST", path: "/servers", skip: 1, effect: limit });
    await expect(env.up({ workers: "1" })).rejects.toThrow(/^server worker-1: server limit exceeded$/);
    expect(env.cloud.state.servers.size).toBe(1);
    env.cloud.faults.clear();
    await env.up({ workers: "1" });
    expect(env.counts()).toEqual(built(2));
  });
});
