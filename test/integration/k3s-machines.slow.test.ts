import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { built, NOTHING, startDevEnv } from "../support/dev-env.ts";

/** Several runs of the engine each: a busy machine is slow. */
const PATIENT = { timeout: 300_000 };

describe("the machines of a development environment", PATIENT, () => {
  test("are built, left alone if nothing changes, grown, shrunk, and removed without a trace", async () => {
    await using env = await startDevEnv();
    const { servers, networkId, apiAddress } = await env.up();
    const control = env.server("dev-control-plane-1")?.id;
    expect(env.counts()).toEqual(built(3));
    expect(env.cloud.state.networks.get(networkId)).toMatchObject({
      name: "dev-network",
      ip_range: "10.0.0.0/8",
      subnets: [{ ip_range: "10.0.0.0/24", network_zone: "eu-central", type: "cloud" }],
    });
    expect(env.server("dev-control-plane-1")).toMatchObject({
      status: "running",
      server_type: { name: "cx23" },
      location: { name: "fsn1" },
      labels: { "lotse-dev-env": "dev" },
      public_net: { ipv4: { ip: apiAddress } },
      private_net: [{ network: networkId, ip: "10.0.0.31" }],
    });
    expect(Object.keys(servers)).toEqual(["dev-control-plane-1", "dev-worker-1", "dev-worker-2"]);
    expect(env.server("dev-worker-2")).toMatchObject({ private_net: [{ ip: "10.0.0.42" }] });
    expect(env.cloud.state.placementGroups.find("dev-worker")).toMatchObject({ type: "spread" });
    expect(env.cloud.state.placementGroups.find("dev-worker")?.servers).toHaveLength(2);
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
    expect(env.lines.toSorted()).toEqual(["firewall dev-firewall changed", "server dev-worker-3 created"]);
    await env.up({ workers: "1" });
    expect(env.counts()).toEqual(built(2));
    await env.up({ workers: "1", workerType: "cx33" });
    expect(env.lines.toSorted()).toEqual(["server dev-worker-1 deleted", "server dev-worker-1 recreated"]);
    expect(env.server("dev-worker-1")).toMatchObject({ status: "running", server_type: { name: "cx33" } });
    expect(env.server("dev-control-plane-1")?.id).toBe(control);

    await env.down();
    expect(env.counts()).toEqual(NOTHING);
    await env.down();
    expect(env.counts()).toEqual(NOTHING);
  });

  test("get their first boot, and the state contains no secret in plain text", async () => {
    await using env = await startDevEnv();
    const pools = JSON.stringify([{ name: "gpu", count: 1, labels: { gpu: "yes" }, taints: ["gpu=yes:NoSchedule"] }]);
    await env.up({ workers: "1", k3sChannel: "v1.34", pools });
    const secrets = await env.folder.secrets("dev");
    const boot = parse(await env.userData("dev-control-plane-1"));
    expect(boot.ssh_keys.ed25519_private.trim()).toBe(secrets.hostKey.privateKey.trim());
    expect(parse(boot.write_files[0].content)).toMatchObject({ "disable-cloud-controller": true });
    expect(boot.write_files[1].content).toContain("channel='v1.34'");
    const worker = parse(await env.userData("dev-worker-1"));
    expect(parse(worker.write_files[0].content)).toMatchObject({
      server: "https://10.0.0.31:6443",
      "node-ip": "10.0.0.41",
    });
    expect(worker.write_files[1].content).toContain(`control_plane='${env.server("dev-control-plane-1")?.id}'`);
    expect(parse(parse(await env.userData("dev-gpu-1")).write_files[0].content)).toMatchObject({
      "node-ip": "10.0.0.51",
      "node-label": ["gpu=yes"],
      "node-taint": ["gpu=yes:NoSchedule"],
    });

    const state = join(env.folder.path, "backend", ".pulumi", "stacks", "lotse-dev-env", "dev.json");
    for (const file of [state, env.folder.configFile("lotse-dev-env")]) {
      const text = await readFile(file, "utf8");
      expect(text).toContain("lotse-dev-env");
      for (const secret of [env.cloud.token, secrets.k3sToken, "OPENSSH PRIVATE KEY"])
        expect(text).not.toContain(secret);
    }
  });

  test("are three control planes behind a load balancer, which survive the loss of the first", async () => {
    await using env = await startDevEnv();
    const { apiAddress } = await env.up({ controlPlanes: "3", workers: "1" });
    const balancer = env.cloud.state.loadBalancers.find("dev-api");
    expect(env.counts()).toEqual(built(4, { loadBalancers: 1 }));
    expect(balancer).toMatchObject({
      labels: { "lotse-dev-env": "dev" },
      public_net: { ipv4: { ip: apiAddress } },
      private_net: [{ ip: "10.0.0.39" }],
      services: [{ listen_port: 6443, destination_port: 6443, protocol: "tcp" }],
    });
    const ids = [1, 2, 3].map((index) => env.server(`dev-control-plane-${index}`)?.id);
    const targets = () =>
      env.cloud.state.loadBalancers
        .find("dev-api")
        ?.targets.map((it) => ("server" in it ? it.server.id : 0))
        .toSorted();
    expect(targets()).toEqual(ids.toSorted());
    expect(await env.userData("dev-control-plane-2")).toContain("server: https://10.0.0.39:6443");
    expect(await env.userData("dev-worker-1")).toContain("server: https://10.0.0.39:6443");
    expect(await env.userData("dev-control-plane-1")).toContain(`10.0.0.39, ${apiAddress}'`);

    const worker = env.server("dev-worker-1")?.id;
    await env.change("DELETE", `/servers/${ids[0]}`);
    await env.up();
    expect(env.lines.toSorted()).toEqual([
      "load balancer target dev-api control-plane-1 created",
      "server dev-control-plane-1 created",
    ]);
    expect(env.server("dev-worker-1")?.id).toBe(worker);
    expect(targets()).toEqual([...ids.slice(1), env.server("dev-control-plane-1")?.id].toSorted());
    await env.down();
    expect(env.counts()).toEqual(NOTHING);
  });

  test("take along what their controller created, and nothing of another cluster", async () => {
    await using env = await startDevEnv();
    const other = env.cloud.addNetwork({ name: "other" });
    const { networkId } = await env.up({ workers: "0" });
    const labels = (uid: string) => ({ "hcloud-ccm/service-uid": uid });
    for (const [name, uid] of [
      ["ours", "4711"],
      ["theirs", "4713"],
    ] as const) {
      const domain_names = [`${name}.example.com`];
      await env.change("POST", "/certificates", { name, type: "managed", domain_names, labels: labels(uid) });
    }
    const balancer = { load_balancer_type: "lb11", location: "fsn1" };
    const target = { type: "server", server: { id: env.server("dev-control-plane-1")?.id } };
    await env.change("POST", "/load_balancers", {
      ...balancer,
      name: "inside",
      network: networkId,
      labels: labels("4711"),
    });
    await env.change("POST", "/load_balancers", {
      ...balancer,
      name: "public",
      targets: [target],
      labels: labels("4712"),
    });
    await env.change("POST", "/load_balancers", {
      ...balancer,
      name: "theirs",
      network: other.id,
      labels: labels("4713"),
    });

    await env.up({ workers: "0" });
    expect(env.cloud.state.loadBalancers.size).toBe(3);
    await env.down();
    expect(env.counts()).toEqual({ ...NOTHING, networks: 1, loadBalancers: 1, certificates: 1 });
    expect(env.cloud.state.loadBalancers.find("theirs")).toBeDefined();
  });
});
