import { describe, expect, it } from "vitest";
import { adopt, isSettled } from "../../../../dev-env/k3s/adopt.ts";
import type { Listing } from "../../../../dev-env/k3s/listing.ts";
import type { ResourceRecord } from "../../../../stacks/units/records.ts";

const NAME = { project: "lotse-dev-env", stack: "dev-cloud", providerVersion: "1.2.3" };
const URN = "urn:pulumi:dev-cloud::lotse-dev-env";
const ROOT = `${URN}::pulumi:pulumi:Stack::lotse-dev-env-dev-cloud`;
const EMPTY: Listing = {
  ssh_keys: [],
  firewalls: [],
  placement_groups: [],
  networks: [],
  certificates: [],
  load_balancers: [],
  servers: [],
};

const stack: ResourceRecord = { urn: ROOT, type: "pulumi:pulumi:Stack", custom: false };
const provider: ResourceRecord = {
  urn: `${URN}::pulumi:providers:hcloud::hcloud`,
  type: "pulumi:providers:hcloud",
  custom: true,
  id: "p-1",
};
const record = (type: string, name: string, id: string, extra: Partial<ResourceRecord> = {}): ResourceRecord => ({
  urn: `${URN}::hcloud:index/${type}::${name}`,
  type: `hcloud:index/${type}`,
  custom: true,
  id,
  ...extra,
});
const network = record("network:Network", "network", "1");
const subnet = record("networkSubnet:NetworkSubnet", "subnet", "1-10.0.0.0/24", { dependencies: [network.urn] });
const server = record("server:Server", "worker-1", "2", {
  dependencies: [network.urn, subnet.urn],
  propertyDependencies: { networks: [network.urn], name: [] },
});
const STATE = [stack, provider, network, subnet, server];
const LISTING: Listing = {
  ...EMPTY,
  networks: [{ id: 1, name: "dev-network", subnets: [{ ip_range: "10.0.0.0/24" }] }],
  servers: [{ id: 2, name: "dev-worker-1" }],
};

describe("a state that is compared with the cloud", () => {
  it("is left as it is when they agree", () => {
    const adoption = adopt(STATE, LISTING, NAME);
    expect(adoption).toEqual({ resources: STATE, strangers: [] });
    expect(isSettled(STATE, adoption)).toBe(true);
  });

  it("forgets what the cloud no longer has, and every reference to it", () => {
    const adoption = adopt(STATE, { ...LISTING, networks: [] }, NAME);
    expect(isSettled(STATE, adoption)).toBe(false);
    expect(adoption.resources).toEqual([
      stack,
      provider,
      { ...server, dependencies: [], propertyDependencies: { networks: [], name: [] } },
    ]);
  });

  it("forgets a subnet that its network no longer has: the provider would panic", () => {
    const listing = { ...LISTING, networks: [{ id: 1, name: "dev-network", subnets: [] }] };
    expect(adopt(STATE, listing, NAME).resources.map(({ id }) => id)).toEqual([undefined, "p-1", "1", "2"]);
  });

  it("gets to know what it does not, in an order in which it can be removed", () => {
    const listing = {
      ...LISTING,
      firewalls: [{ id: 3, name: "dev-firewall" }],
      servers: [...LISTING.servers, { id: 4, name: "dev-worker-2" }],
    };
    const { resources, strangers } = adopt(STATE, listing, NAME);
    const firewall = `${URN}::hcloud:index/firewall:Firewall::found-firewalls-3`;
    const worker = `${URN}::hcloud:index/server:Server::found-servers-4`;
    expect(strangers).toEqual([firewall, worker]);
    expect(resources.at(-1)).toEqual({
      urn: worker,
      type: "hcloud:index/server:Server",
      custom: true,
      id: "4",
      parent: ROOT,
      provider: `${provider.urn}::p-1`,
      dependencies: [firewall],
      inputs: { name: "dev-worker-2" },
      outputs: { id: "4", name: "dev-worker-2" },
    });
  });

  it("is made from nothing when it was lost", () => {
    const { resources, strangers } = adopt([], LISTING, NAME);
    expect(resources.map(({ type }) => type)).toEqual([
      "pulumi:pulumi:Stack",
      "pulumi:providers:hcloud",
      "hcloud:index/network:Network",
      "hcloud:index/server:Server",
    ]);
    expect(strangers).toHaveLength(2);
    expect(resources[1]).toMatchObject({ inputs: { version: "1.2.3" }, parent: ROOT });
  });

  it("keeps what it does not look at", () => {
    const other = record("volume:Volume", "volume", "9");
    expect(adopt([...STATE, other], LISTING, NAME).resources).toContainEqual(other);
  });
});
