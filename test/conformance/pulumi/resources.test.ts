/** Every resource of the real plugin on the simulated cloud. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../../dev-env/cloud/cloud.ts";
import { issueCertificate } from "../../../dev-env/cloud/resources/self-signed.ts";
import { type Deployed, Plugin, type Properties } from "./plugin.ts";

/**
 * One kind of resource: inputs, those that differ in a change in place and in one that replaces it, and its import id.
 */
interface Case {
  readonly type: string;
  readonly inputs: () => Properties;
  /** Changes in place; absent if there are none. */
  readonly update?: () => Properties;
  /** Changes that require a replacement; absent if there are none. */
  readonly replace?: () => Properties;
  readonly importId?: (resource: Deployed) => string;
  /** Whether the provider refuses to import it by id. */
  readonly isNotImportable?: boolean;
  /** Inputs that the API does not return, so that an import lacks them. */
  readonly writeOnly?: readonly string[];
}

const PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7dEwV6AcEkk9GJvFUGlBzJWiHkZuJLn9VnqvVwpuVJ me@example";
const pem = issueCertificate({ domainNames: ["a.example.com"], serial: 1, notBefore: 0, notAfter: 4e12 });
const otherPem = issueCertificate({ domainNames: ["b.example.com"], serial: 2, notBefore: 0, notAfter: 4e12 });

let cloud: Cloud;
let plugin: Plugin;
let network = 0;
let server = 0;
let balancer = 0;
let attached = 0;

beforeAll(async () => {
  cloud = await startCloud({ rateLimit: "off", actionMs: 5 });
  plugin = await Plugin.start(cloud);
  network = cloud.addNetwork({ name: "base" }).id;
  server = cloud.addServer({ name: "base", network, labels: { role: "web" } }).id;
  const make = async (name: string, extra: Properties = {}) =>
    Number(
      (await plugin.create("loadBalancer:LoadBalancer", { name, loadBalancerType: "lb11", location: "fsn1", ...extra }))
        .id,
    );
  balancer = await make("base");
  attached = await make("attached");
  await plugin.create("zone:Zone", { name: "example.com", mode: "primary" });
  await plugin.create("loadBalancerNetwork:LoadBalancerNetwork", { loadBalancerId: attached, networkId: network });
});

afterAll(async () => {
  await plugin?.stop();
  await cloud?.stop();
});

const healthCheck = {
  protocol: "http",
  port: 30080,
  interval: 5,
  timeout: 4,
  retries: 2,
  http: { path: "/healthz", statusCodes: ["200"] },
};
const rule = { description: "web", direction: "in", protocol: "tcp", port: "80", sourceIps: ["0.0.0.0/0", "::/0"] };

const CASES: readonly Case[] = [
  {
    type: "loadBalancer:LoadBalancer",
    inputs: () => ({ name: "lb", loadBalancerType: "lb11", location: "fsn1", labels: { a: "1" } }),
    update: () => ({
      name: "lb-renamed",
      loadBalancerType: "lb21",
      labels: { a: "2" },
      algorithm: { type: "least_connections" },
    }),
    replace: () => ({ location: "nbg1" }),
  },
  {
    type: "loadBalancerNetwork:LoadBalancerNetwork",
    inputs: () => ({ loadBalancerId: balancer, networkId: network }),
    update: () => ({ enablePublicInterface: false }),
    replace: () => ({ ip: "10.0.1.99" }),
    importId: () => `${balancer}-${network}`,
  },
  {
    type: "loadBalancerService:LoadBalancerService",
    inputs: () => ({
      loadBalancerId: String(balancer),
      protocol: "http",
      listenPort: 8080,
      destinationPort: 30080,
    }),
    update: () => ({ destinationPort: 30081, healthCheck }),
    replace: () => ({ listenPort: 8081 }),
    importId: () => `${balancer}__8080`,
  },
  {
    type: "loadBalancerTarget:LoadBalancerTarget",
    inputs: () => ({ type: "server", loadBalancerId: attached, serverId: server, usePrivateIp: true }),
    update: () => ({ usePrivateIp: false }),
    replace: () => ({ loadBalancerId: balancer, usePrivateIp: undefined }),
    importId: () => `${attached}__server__${server}`,
  },
  {
    type: "loadBalancerTarget:LoadBalancerTarget",
    inputs: () => ({ type: "label_selector", loadBalancerId: attached, labelSelector: "role=web", usePrivateIp: true }),
    replace: () => ({ labelSelector: "role=db" }),
    importId: () => `${attached}__label_selector__role=web`,
  },
  {
    type: "loadBalancerTarget:LoadBalancerTarget",
    inputs: () => ({ type: "ip", loadBalancerId: attached, ip: "203.0.113.5" }),
    replace: () => ({ ip: "203.0.113.6" }),
    importId: () => `${attached}__ip__203.0.113.5`,
  },
  {
    type: "network:Network",
    inputs: () => ({ name: "net", ipRange: "10.8.0.0/16" }),
    update: () => ({ name: "net-renamed", labels: { a: "b" }, exposeRoutesToVswitch: true }),
    replace: () => ({ ipRange: "10.9.0.0/16" }),
  },
  {
    type: "networkSubnet:NetworkSubnet",
    inputs: () => ({ networkId: network, type: "cloud", networkZone: "eu-central", ipRange: "10.0.7.0/24" }),
    replace: () => ({ ipRange: "10.0.8.0/24" }),
  },
  {
    type: "networkRoute:NetworkRoute",
    inputs: () => ({ networkId: network, destination: "10.100.1.0/24", gateway: "10.0.1.1" }),
    replace: () => ({ gateway: "10.0.1.2" }),
  },
  {
    type: "server:Server",
    inputs: () => ({ name: "node", serverType: "cx23", image: "ubuntu-24.04", location: "fsn1" }),
    update: () => ({ name: "node-renamed", serverType: "cx33", labels: { a: "b" }, backups: true }),
    replace: () => ({ image: "debian-12" }),
    writeOnly: ["image"],
  },
  {
    type: "serverNetwork:ServerNetwork",
    inputs: () => ({ serverId: cloud.addServer({ name: "guest" }).id, networkId: network, ip: "10.0.1.40" }),
    update: () => ({ aliasIps: ["10.0.1.41"] }),
    replace: () => ({ ip: "10.0.1.42" }),
  },
  {
    type: "sshKey:SshKey",
    inputs: () => ({ name: "key", publicKey: PUBLIC_KEY }),
    update: () => ({ name: "key-renamed", labels: { a: "b" } }),
    replace: () => ({ publicKey: PUBLIC_KEY.replace("J7d", "J7e") }),
  },
  {
    type: "firewall:Firewall",
    inputs: () => ({ name: "wall", rules: [rule] }),
    update: () => ({ name: "wall-renamed", rules: [rule, { ...rule, port: "443" }], applyTos: [{ server }] }),
  },
  {
    type: "placementGroup:PlacementGroup",
    inputs: () => ({ name: "group", type: "spread" }),
    update: () => ({ name: "group-renamed", labels: { a: "b" } }),
  },
  {
    type: "managedCertificate:ManagedCertificate",
    inputs: () => ({ name: "managed", domainNames: ["www.example.com"] }),
    update: () => ({ name: "managed-renamed", labels: { a: "b" } }),
    replace: () => ({ domainNames: ["web.example.com"] }),
  },
  {
    type: "uploadedCertificate:UploadedCertificate",
    inputs: () => ({ name: "up", certificate: pem.certificate, privateKey: pem.privateKey }),
    update: () => ({ name: "up-renamed" }),
    replace: () => ({ certificate: otherPem.certificate, privateKey: otherPem.privateKey }),
    writeOnly: ["privateKey"],
  },
  {
    type: "primaryIp:PrimaryIp",
    inputs: () => ({ name: "ip", type: "ipv4", location: "fsn1", autoDelete: false }),
    update: () => ({ name: "ip-renamed", labels: { a: "b" } }),
    replace: () => ({ type: "ipv6" }),
  },
  {
    type: "zone:Zone",
    inputs: () => ({ name: "example.org", mode: "primary", deleteProtection: true }),
    update: () => ({ deleteProtection: false, ttl: 600, labels: { a: "b" } }),
    replace: () => ({ name: "example.net", deleteProtection: undefined }),
  },
  {
    type: "zone:Zone",
    inputs: () => ({ name: "example.net", mode: "secondary", primaryNameservers: [{ address: "203.0.113.1" }] }),
    update: () => ({ primaryNameservers: [{ address: "203.0.113.2", port: 5353 }] }),
    replace: () => ({ mode: "primary", primaryNameservers: undefined }),
  },
  {
    type: "zoneRrset:ZoneRrset",
    inputs: () => ({
      zone: "example.com",
      name: "www",
      type: "A",
      changeProtection: true,
      records: [{ value: "203.0.113.7" }],
    }),
    update: () => ({
      ttl: 300,
      changeProtection: false,
      labels: { a: "b" },
      records: [{ value: "203.0.113.8", comment: "web" }],
    }),
    replace: () => ({ type: "AAAA", changeProtection: undefined, records: [{ value: "2001:db8::1" }] }),
    importId: () => "example.com/www/A",
  },
  {
    type: "zoneRecord:ZoneRecord",
    inputs: () => ({ zone: "example.com", name: "one", type: "A", value: "203.0.113.7" }),
    update: () => ({ comment: "web" }),
    replace: () => ({ value: "203.0.113.8" }),
    isNotImportable: true,
  },
];

/** The state without internal fields of the bridge. Absent, null and empty are equal for the provider. */
function meaningOf(state: Properties = {}): Properties {
  const isNothing = (value: unknown) =>
    value === null || (typeof value === "object" && Object.keys(value ?? {}).length === 0);
  const entries = Object.entries(state).filter(([key, value]) => !key.startsWith("__") && !isNothing(value));
  return Object.fromEntries(entries);
}

/** A refresh after a change finds no difference, and neither does the program. */
async function expectSettled(resource: Deployed): Promise<void> {
  const read = await plugin.read(resource);
  expect(read?.id).toBe(resource.id);
  expect(meaningOf(read?.state)).toEqual(meaningOf(resource.state));
  const verdict = await plugin.diff({ ...resource, state: read?.state ?? {} }, resource.inputs);
  expect(verdict).toEqual({ action: "none", keys: [] });
}

async function expectImportable(resource: Deployed, { type, importId, writeOnly }: Case): Promise<void> {
  const imported = await plugin.read({ type, id: importId?.(resource) ?? resource.id });
  expect(imported?.id).toBe(resource.id);
  if (!imported || writeOnly) return;
  const adopted = { ...imported, inputs: resource.inputs };
  expect(await plugin.diff(adopted, resource.inputs)).toEqual({ action: "none", keys: [] });
}

describe("the real Pulumi plugin", () => {
  test.each(CASES)("$type: create, refresh, update, replace, import, delete", async (one) => {
    const inputs = one.inputs();
    let resource = await plugin.create(one.type, inputs);
    await expectSettled(resource);
    if (one.replace) expect((await plugin.diff(resource, { ...inputs, ...one.replace() })).action).toBe("replace");
    if (!one.isNotImportable) await expectImportable(resource, one);
    if (one.update) {
      const wanted = { ...inputs, ...one.update() };
      expect((await plugin.diff(resource, wanted)).action).toBe("update");
      resource = await plugin.update(resource, wanted);
      await expectSettled(resource);
    }
    await plugin.delete(resource);
    expect(await plugin.read(resource)).toBeUndefined();
  });
});
