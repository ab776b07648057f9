import { describe, expect, it } from "vitest";
import { outputsText, savedMirror } from "../../../../../controller/commands/preview/saved-stack.ts";
import { renderMirror } from "../../../../../stacks/state/mirror.ts";
import type { StackOutputs } from "../../../../../stacks/units/outputs.ts";

const PLACE = { cluster: "prod", server: "https://10.0.0.1:6443" };
const ports = [{ port: 80, nodePort: 30080, protocol: "tcp" }];
const OUTPUTS: StackOutputs = {
  schemaVersion: 1,
  services: {
    "default/web": { uid: "u", loadBalancerId: 7, name: "lb", ipv4: "192.0.2.1", ipv6: "2001:db8::1", ports },
    "default/named": { uid: "v", loadBalancerId: 8, name: "lb2", hostname: "a\u001b[2J.example", ports: [] },
  },
  nodes: {
    "node-1": {
      providerID: "hcloud://1",
      kind: "cloud",
      serverId: 1,
      labels: {},
      addresses: [{ type: "InternalIP", address: "10.0.1.1" }],
      podCIDRs: ["10.244.1.0/24"],
    },
  },
  routes: {},
};
const text = (outputs: unknown) =>
  renderMirror({ stack: "prod", existing: {}, specs: [], outputs: outputs as StackOutputs }, new Date(0));

describe("the saved stack", () => {
  it("is printed as tables, without what a terminal would obey", () => {
    expect(outputsText(savedMirror(text(OUTPUTS), "Secret a/b"), PLACE)).toBe(`Cluster prod (https://10.0.0.1:6443): \
outputs of 1970-01-01T00:00:00.000Z

SERVICES
  service        id  addresses              ports
  default/web    7   192.0.2.1 2001:db8::1  80:30080/tcp
  default/named  8   a\\u001b[2J.example

NODES
  name    provider id  addresses  pods
  node-1  hcloud://1   10.0.1.1   10.244.1.0/24

ROUTES  none
`);
  });

  it("is exported as `pulumi stack import` takes it", () => {
    expect(savedMirror(text(OUTPUTS), "Secret a/b").exported).toMatchObject({
      version: 3,
      deployment: { manifest: {}, resources: [{ type: "pulumi:pulumi:Stack", outputs: OUTPUTS }, {}] },
    });
  });

  it("keeps outputs of a newer version for programs, and refers people to them", () => {
    const saved = savedMirror(text({ schemaVersion: 2 }), "Secret a/b");
    expect(saved.outputs).toEqual({ schemaVersion: 2 });
    expect(() => outputsText(saved, PLACE)).toThrow("the outputs have version 2: use --json");
  });

  it.each([
    ["", "unknown format"],
    ["null", "unknown format"],
    ['{"version":3}', "unknown format"],
    ['{"version":3,"checkpoint":{"latest":{"resources":{}}}}', "unknown format"],
    ['{"version":4,"checkpoint":{"latest":{"resources":[]}}}', "unknown format"],
    [undefined, "there is no saved stack (Secret a/b does not exist)"],
  ])("is refused as %j: %s", (saved, message) => {
    expect(() => savedMirror(saved, "Secret a/b")).toThrow(message);
  });
});
