import { describe, expect, it } from "vitest";
import type { AddressFamily } from "../../../../../controller/render/node/addresses.ts";
import { EXTERNAL_IPV6, readExternalIpv6 } from "../../../../../controller/render/node/external-ipv6.ts";
import { aNode } from "../../../../support/builders.ts";

const read = (text: string | undefined, family: AddressFamily = "dualstack") =>
  readExternalIpv6(aNode({ annotations: text === undefined ? {} : { [EXTERNAL_IPV6]: text } }), family);

describe("the IPv6 address that a node declares (HCCM P18)", () => {
  it("has the official controller's annotation", () => {
    expect(EXTERNAL_IPV6).toBe("instance.hetzner.cloud/external-ipv6");
  });

  it("is absent without the annotation", () => {
    expect(read(undefined)).toEqual({ ok: true, warnings: [] });
  });

  it.each([
    ["2001:db8:1234::5", "2001:db8:1234::5"],
    ["2001:0DB8:1234:0:0:0:0:5", "2001:db8:1234::5"],
    ["fd00::5", "fd00::5"],
  ])("%s is %s", (text, address) => {
    expect(read(text)).toEqual({ ok: true, address, warnings: [] });
    expect(read(text, "ipv6")).toMatchObject({ address });
  });

  it.each([
    ["nothing", ""],
    ["IPv4", "203.0.113.5"],
    ["IPv4 in IPv6", "::ffff:203.0.113.5"],
    ["a network", "2001:db8::/64"],
    ["two", "2001:db8::1,2001:db8::2"],
    ["a blank", " 2001:db8::1"],
    ["a zone", "2001:db8::1%eth0"],
    ["unspecified", "::"],
    ["this host", "::1"],
    ["one link", "fe80::1"],
    ["many", "ff02::1"],
    ["a name", "node-1"],
  ])("is refused when it is %s: the node is not initialised with a guess", (_, text) => {
    const refusal = { kind: "refused", isFinal: true, event: "InvalidExternalIPv6" };
    expect(read(text)).toMatchObject({ ok: false, refusal });
    expect(JSON.stringify(read(text))).toContain(`${EXTERNAL_IPV6}: ${JSON.stringify(`"${text}"`).slice(1, -1)}`);
  });

  it.each(["2001:db8::5", "nonsense"])("is ignored with a warning where nodes have no IPv6 addresses: %s", (text) => {
    expect(read(text, "ipv4")).toEqual({
      ok: true,
      warnings: [
        { reason: "IgnoredExternalIPv6", message: expect.stringContaining("HCLOUD_INSTANCES_ADDRESS_FAMILY") },
      ],
    });
  });
});
