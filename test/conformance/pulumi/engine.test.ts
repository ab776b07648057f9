/** The real Pulumi engine on the simulated cloud. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import * as hcloud from "@pulumi/hcloud";
import { LocalWorkspace, PulumiCommand, type Stack } from "@pulumi/pulumi/automation/index.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../../dev-env/cloud/cloud.ts";
import { ensureToolchain } from "../../../dev-env/toolchain/toolchain.ts";

const PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7dEwV6AcEkk9GJvFUGlBzJWiHkZuJLn9VnqvVwpuVJ me@example";

/** The number of resources that `declareCluster` declares, plus the stack. */
const RESOURCES = 14;

let cloud: Cloud;
let stack: Stack;
let directory: string;

beforeAll(async () => {
  const tools = ["pulumi", "pulumi-language-nodejs", "pulumi-resource-hcloud"] as const;
  const { binDir, pulumiHome } = await ensureToolchain(tools);
  cloud = await startCloud({ rateLimit: "off", actionMs: 20, strictRaces: false });
  directory = await mkdtemp(join(tmpdir(), "lotse-conformance-"));
  stack = await LocalWorkspace.createStack(
    { stackName: "test", projectName: "conformance", program: async () => declareCluster() },
    {
      workDir: directory,
      pulumiHome,
      pulumiCommand: await PulumiCommand.get({ root: dirname(binDir) }),
      envVars: {
        PATH: [binDir, process.env.PATH].join(delimiter),
        PULUMI_BACKEND_URL: `file://${directory}`,
        PULUMI_CONFIG_PASSPHRASE: "",
        PULUMI_SKIP_UPDATE_CHECK: "true",
        HCLOUD_TOKEN: cloud.token,
        HCLOUD_ENDPOINT: cloud.url,
      },
    },
  );
  await stack.setAllConfig({ "hcloud:pollInterval": { value: "10ms" }, "hcloud:pollFunction": { value: "constant" } });
});

afterAll(async () => {
  await cloud?.stop();
  if (directory) await rm(directory, { recursive: true, force: true });
});

/** A small cluster with one resource of each kind. */
function declareCluster(): void {
  const key = new hcloud.SshKey("key", { name: "key", publicKey: PUBLIC_KEY });
  const group = new hcloud.PlacementGroup("group", { name: "group", type: "spread" });
  const rule = { direction: "in", protocol: "tcp", port: "6443", sourceIps: ["0.0.0.0/0", "::/0"], description: "api" };
  const firewall = new hcloud.Firewall("wall", { name: "wall", rules: [rule] });
  const network = new hcloud.Network("net", { name: "net", ipRange: "10.0.0.0/16" });
  const networkId = network.id.apply(Number);
  const subnet = new hcloud.NetworkSubnet("subnet", {
    networkId,
    type: "cloud",
    networkZone: "eu-central",
    ipRange: "10.0.1.0/24",
  });
  const server = new hcloud.Server("node", {
    name: "node",
    serverType: "cpx22",
    image: "ubuntu-24.04",
    location: "fsn1",
    sshKeys: [key.id],
    placementGroupId: group.id.apply(Number),
    firewallIds: [firewall.id.apply(Number)],
    labels: { role: "node" },
  });
  const serverId = server.id.apply(Number);
  const membership = new hcloud.ServerNetwork("membership", { serverId, subnetId: subnet.id, ip: "10.0.1.10" });
  new hcloud.NetworkRoute(
    "route",
    { networkId, destination: "10.244.0.0/24", gateway: "10.0.1.10" },
    { dependsOn: subnet },
  );
  const certificate = new hcloud.ManagedCertificate("cert", { name: "cert", domainNames: ["www.example.com"] });
  const balancer = new hcloud.LoadBalancer("lb", { name: "lb", loadBalancerType: "lb11", location: "fsn1" });
  const loadBalancerId = balancer.id.apply(Number);
  const attachment = new hcloud.LoadBalancerNetwork("lb-net", { loadBalancerId, subnetId: subnet.id });
  new hcloud.LoadBalancerService("https", {
    loadBalancerId: balancer.id,
    protocol: "https",
    listenPort: 443,
    destinationPort: 30443,
    http: { certificates: [certificate.id.apply(Number)], redirectHttp: true },
  });
  const target = { type: "server", loadBalancerId, serverId, usePrivateIp: true };
  new hcloud.LoadBalancerTarget("target", target, { dependsOn: [attachment, membership] });
}

test("the real engine creates a cluster, finds no changes, and destroys it", async () => {
  const built = await stack.up();
  expect(built.summary.resourceChanges?.create).toBe(RESOURCES);
  expect(cloud.state.loadBalancers.find("lb")).toMatchObject({
    private_net: [{ ip: "10.0.1.1" }],
    targets: [{ use_private_ip: true, server: { ip: "10.0.1.10" } }],
  });
  const writes = cloud.journal.writes.length;
  const refreshed = await stack.refresh();
  const again = await stack.up();
  expect(again.summary.resourceChanges).toEqual({ same: RESOURCES });
  expect(refreshed.summary.resourceChanges?.update ?? 0).toBe(0);
  expect(cloud.journal.writes).toHaveLength(writes);
  await stack.destroy();
  const { actions: _, rrsets: __, ...kinds } = cloud.state;
  const left = Object.entries(kinds).filter(([, view]) => view.size > 0);
  expect(left.map(([kind]) => kind)).toEqual([]);
});
