import type { V1NodeAddress } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import {
  type AddressFamily,
  applyProvidedIps,
  sameAddresses,
  serverAddresses,
} from "../../../../../controller/render/node/addresses.ts";
import { aServer, NETWORK_ID } from "../../../../support/builders.ts";

/** `I 10.1.1.1` → an entry; I internal, E external, H host name, ID and ED the DNS names. */
const TYPES = { I: "InternalIP", E: "ExternalIP", H: "Hostname", ID: "InternalDNS", ED: "ExternalDNS" } as const;
const isShort = (text: string | undefined): text is keyof typeof TYPES => text !== undefined && text in TYPES;
const list = (text: string): V1NodeAddress[] =>
  text.split(", ").map((entry) => {
    const [type, address] = entry.split(" ");
    if (!isShort(type) || address === undefined) throw new Error(`not an address: ${entry}`);
    return { type: TYPES[type], address };
  });

const aim = (addressFamily: AddressFamily, networkId?: number) => ({
  addressFamily,
  ...(networkId !== undefined && { networkId }),
});

describe("serverAddresses (HCCM N8)", () => {
  const server = aServer({ id: 9, name: "worker", privateIp: "10.0.0.2" });
  it.each<[AddressFamily, number | undefined, string]>([
    ["ipv4", undefined, "H worker, E 203.0.113.9"],
    ["ipv6", undefined, "H worker, E 2001:db8:9::1"],
    ["dualstack", undefined, "H worker, E 203.0.113.9, E 2001:db8:9::1"],
    ["ipv4", NETWORK_ID, "H worker, E 203.0.113.9, I 10.0.0.2"],
    ["dualstack", NETWORK_ID, "H worker, E 203.0.113.9, E 2001:db8:9::1, I 10.0.0.2"],
    ["ipv4", 99, "H worker, E 203.0.113.9"],
  ])("with family %s and network %s gives %s", (family, networkId, expected) => {
    expect(serverAddresses(server, aim(family, networkId))).toEqual(list(expected));
  });

  it("leaves out public addresses that the server does not have", () => {
    const bare = aServer({ name: "bare", ipv4: null, ipv6: null, privateIp: "10.0.0.3" });
    expect(serverAddresses(bare, aim("dualstack", NETWORK_ID))).toEqual(list("H bare, I 10.0.0.3"));
  });

  it("ignores attachments to other networks", () => {
    const both = aServer({
      name: "both",
      privateNets: [
        { network: 99, ip: "192.168.0.2" },
        { network: NETWORK_ID, ip: "10.0.0.4" },
      ],
    });
    expect(serverAddresses(both, aim("ipv4", NETWORK_ID))).toEqual(list("H both, E 203.0.113.1, I 10.0.0.4"));
  });

  it("uses the first address of the server's IPv6 network in any notation", () => {
    expect(serverAddresses(aServer({ name: "n", ipv6: "2001:DB8:0:0::/64" }), aim("ipv6"))).toEqual(
      list("H n, E 2001:db8::1"),
    );
  });

  it.each<[string, AddressFamily, Parameters<typeof aServer>[0], string]>([
    ["in place of the first", "ipv6", {}, "H n, E 2001:db8::5"],
    ["behind IPv4", "dualstack", {}, "H n, E 203.0.113.1, E 2001:db8::5"],
    ["also without a network to take it from", "ipv6", { ipv6: null }, "H n, E 2001:db8::5"],
    ["not where nodes carry no IPv6", "ipv4", {}, "H n, E 203.0.113.1"],
  ])("HCCM P18: uses the IPv6 address that the node declares, %s", (_, addressFamily, given, expected) => {
    const options = { addressFamily, externalIpv6: "2001:db8::5" };
    expect(serverAddresses(aServer({ name: "n", ...given }), options)).toEqual(list(expected));
  });
});

describe("applyProvidedIps", () => {
  it("does not change the list without the annotation", () => {
    const addresses = list("H h, E 1.1.1.1");
    expect(applyProvidedIps(addresses, undefined)).toEqual({ ok: true, addresses });
  });

  it.each([
    ["framework A01: a match comes first", "10.1.1.1", "I 10.1.1.1, H h", "I 10.1.1.1, H h"],
    [
      "framework A02: whatever its type",
      "55.55.55.55",
      "I 10.1.1.1, E 55.55.55.55, H h",
      "E 55.55.55.55, I 10.1.1.1, H h",
    ],
    [
      "framework A03: in every type that has it",
      "55.55.55.55",
      "I 44.44.44.44, E 44.44.44.44, I 55.55.55.55, E 55.55.55.55, H h",
      "I 55.55.55.55, E 55.55.55.55, H h",
    ],
    [
      "framework A04: other types keep their order",
      "10.1.1.1",
      "I 10.1.1.1, E 55.55.55.55, ID ip-10-1-1-1.int, ED ec2.ext, H h",
      "I 10.1.1.1, E 55.55.55.55, ID ip-10-1-1-1.int, ED ec2.ext, H h",
    ],
    [
      "framework A05: a match pushes out other addresses of its type",
      "10.1.1.1",
      "I 10.1.1.1, I 10.2.2.2, I 10.3.3.3, E 55.55.55.55, H h",
      "I 10.1.1.1, E 55.55.55.55, H h",
    ],
    [
      "framework A07: IPv6 is compared as a number and kept in the cloud's spelling",
      "2600:1f14:1d4:d101::ba3d",
      "I 10.1.1.1, I 2600:1f14:1d4:d101:0:0:0:ba3d, H h",
      "I 2600:1f14:1d4:d101:0:0:0:ba3d, H h",
    ],
    [
      "framework A09: both families",
      "10.1.1.1,fc01:1234::5678",
      "I 10.1.1.1, I fc01:1234::5678, H h",
      "I 10.1.1.1, I fc01:1234::5678, H h",
    ],
    [
      "framework A10: in the annotation's order",
      "10.1.1.1,fc01:1234::5678",
      "I fc01:1234::5678, I 10.1.1.1, H h",
      "I 10.1.1.1, I fc01:1234::5678, H h",
    ],
    [
      "framework A11: others of both families go",
      "10.1.1.1,fc01:1234::5678",
      "I 10.1.1.1, I 10.1.1.2, I fc01:1234::1234, I fc01:1234::5678, H h",
      "I 10.1.1.1, I fc01:1234::5678, H h",
    ],
    [
      "framework A12: external ones follow",
      "10.1.1.1,fc01:1234::5678",
      "I 10.1.1.1, I fc01:1234::5678, E 55.55.55.55, H h",
      "I 10.1.1.1, I fc01:1234::5678, E 55.55.55.55, H h",
    ],
    [
      "framework A13: IPv6 may come first",
      "fc01:1234::5678,10.1.1.1",
      "I 10.1.1.1, I fc01:1234::5678, E 55.55.55.55, E 2001:db1::1, H h",
      "I fc01:1234::5678, I 10.1.1.1, E 55.55.55.55, E 2001:db1::1, H h",
    ],
    [
      "framework A14: the two may be of different types",
      "55.55.55.55,fc01:1234::5678",
      "I 10.1.1.1, E 55.55.55.55, I fc01:1234::5678, E 2001:db1::1, H h",
      "E 55.55.55.55, I fc01:1234::5678, H h",
    ],
    ["IPv4 equals its IPv6-mapped form", "::ffff:10.1.1.1", "I 10.1.1.1, H h", "I 10.1.1.1, H h"],
  ])("%s", (_, annotation, cloud, expected) => {
    expect(applyProvidedIps(list(cloud), annotation)).toEqual({ ok: true, addresses: list(expected) });
  });

  it.each([
    ["framework A06: the only address", "10.2.2.2", "I 10.1.1.1, H h", "10.2.2.2"],
    ["framework A08: one of the two", "10.1.1.1,fc01:1234::5678", "I 10.1.1.1, H h", "fc01:1234::5678"],
    ["a host name that reads like a short IP", "0.0.0.10", "I 10.1.1.1, H 10", "0.0.0.10"],
  ])("%s is missing: says which, and which the server has", (_, annotation, cloud, missing) => {
    const shaped = applyProvidedIps(list(cloud), annotation);
    expect(shaped).toMatchObject({ ok: false });
    expect(shaped.ok ? "" : shaped.reason).toContain(`--node-ip ${missing}`);
    expect(shaped.ok ? "" : shaped.reason).toContain("10.1.1.1");
  });

  it.each([
    ["framework N09: no IP at all", "invalid-ip"],
    ["framework A15: nothing", ""],
    ["framework A15: two of one family", "10.1.1.1,10.1.1.2"],
    ["framework A15: three", "10.1.1.1,fc01::1,10.1.1.2"],
    ["framework A15: a blank", "10.1.1.1, fc01::1"],
    ["a trailing comma", "10.1.1.1,"],
    ["an unspecified one of two", "0.0.0.0,fc01::1"],
    ["a number that is no dotted quad", "167837953"],
    ["a short form that Go does not read", "10.257"],
    ["hexadecimal", "0x0a.1.1.1"],
    ["an IPv6 zone", "fe80::1%eth0"],
  ])("refuses the annotation: %s", (_, annotation) => {
    const shaped = applyProvidedIps(list("I 10.1.1.1, I fc01::1, I fe80::1, H h"), annotation);
    expect(shaped).toMatchObject({ ok: false });
    expect(shaped.ok ? "" : shaped.reason).toContain("alpha.kubernetes.io/provided-node-ip");
  });
});

describe("sameAddresses", () => {
  it.each([
    ["framework N23: equal lists", "H h, I 10.0.0.1", "H h, I 10.0.0.1", true],
    ["framework N24: one address differs", "H h, E 1.1.1.1", "H h, E 1.1.1.2", false],
    ["framework N25: one more", "H h", "H h, E 1.1.1.1", false],
    ["framework N25: one less", "H h, E 1.1.1.1", "H h", false],
    ["framework N26: types swapped", "I 1.1.1.1, E 2.2.2.2", "E 1.1.1.1, I 2.2.2.2", false],
    [
      "unlike HCCM N17: two of one type are no change for ever",
      "E 1.1.1.1, E 2001:db8::1",
      "E 1.1.1.1, E 2001:db8::1",
      true,
    ],
  ])("%s", (_, a, b, expected) => {
    expect(sameAddresses(list(a), list(b))).toBe(expected);
  });
});
