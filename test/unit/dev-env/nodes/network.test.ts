import { describe, expect, it } from "vitest";
import { renderFirewalls } from "../../../../dev-env/nodes/network/firewall.ts";
import { changesBetween, type Host, routerTable } from "../../../../dev-env/nodes/network/layout.ts";

const hosts: readonly Host[] = [
  { id: 1, publicIp: "198.18.0.1", privateIps: ["10.0.1.1", "10.0.1.100"] },
  { id: 2, publicIp: "198.18.0.2", privateIps: ["10.0.1.2"] },
  { id: 3, publicIp: "198.18.0.3", privateIps: [] },
];
const route = (destination: string, gateway: string) => ({ destination, gateway });
const UPLINK = { "10.255.255.254/32": "dev uplink" };
const MACHINES = { "10.0.1.1/32": "dev net-1", "10.0.1.100/32": "dev net-1", "10.0.1.2/32": "dev net-2", ...UPLINK };

describe("the router of the private network", () => {
  it.each([
    ["knows the addresses of attached machines only", { routes: [], balancers: [] }, {}],
    ["knows load balancers", { routes: [], balancers: ["10.0.1.9"] }, { "10.0.1.9/32": "dev uplink" }],
    [
      "forwards to the gateway of a route",
      { routes: [route("10.244.0.0/24", "10.0.1.2")], balancers: [] },
      { "10.244.0.0/24": "via 10.0.1.2 dev net-2 onlink" },
    ],
    [
      "drops packets for a gateway that does not exist",
      { routes: [route("10.244.0.0/24", "10.0.1.7")], balancers: [] },
      {},
    ],
  ])("%s", (_name, network, more) => {
    expect(Object.fromEntries(routerTable(hosts, network))).toEqual({ ...MACHINES, ...more });
  });

  it("is changed by as few commands as possible", () => {
    const before = new Map([
      ["a", "dev x"],
      ["b", "dev x"],
      ["c", "dev x"],
    ]);
    const after = new Map([
      ["b", "dev y"],
      ["c", "dev x"],
      ["d", "dev z"],
    ]);
    expect(changesBetween(before, after)).toEqual(["route del a", "route replace b dev y", "route replace d dev z"]);
    expect(changesBetween(after, after)).toEqual([]);
  });
});

describe("firewalls", () => {
  const rule = (more: object) => ({
    direction: "in" as const,
    source_ips: ["0.0.0.0/0", "::/0"],
    destination_ips: [],
    protocol: "tcp" as const,
    port: "80",
    ...more,
  });
  const linesOf = (...rules: readonly ReturnType<typeof rule>[]) =>
    renderFirewalls([{ id: 7, rules }])
      .split("\n")
      .filter((line) => line.includes("pub-7"))
      .map((line) => line.trim().replace(/^[io]ifname "pub-7" /, ""));

  it.each([
    ["a port", rule({}), "tcp dport 80"],
    ["a range of ports", rule({ port: "80-85" }), "tcp dport 80-85"],
    ["all ports", rule({ port: "any" }), "meta l4proto tcp"],
    ["a protocol without ports", rule({ protocol: "icmp", port: null }), "meta l4proto icmp"],
  ])("let %s in, and replies, and nothing else", (_name, allowed, match) => {
    const [replies, v4, , last] = linesOf(allowed);
    expect([replies, last]).toEqual(["ct state established,related accept", "drop"]);
    expect(v4).toBe(`ip saddr { 0.0.0.0/0 } ${match} accept`);
  });

  it("without rules let nothing in, and everything out", () => {
    expect(linesOf()).toEqual(["ct state established,related accept", "drop"]);
  });

  it("limit outbound traffic once there is an outbound rule", () => {
    const out = rule({ direction: "out", source_ips: [], destination_ips: ["192.0.2.0/24"], port: "443" });
    expect(linesOf(out).slice(-3)).toEqual([
      "ct state established,related accept",
      "ip daddr { 192.0.2.0/24 } tcp dport 443 accept",
      "drop",
    ]);
  });
});
