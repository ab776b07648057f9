import { describe, expect, it } from "vitest";
import { ConfigError } from "../../../../controller/diagnostics/errors.ts";
import { makeSecrets } from "../../../../dev-env/k3s/secrets.ts";
import { environmentName, publicKey } from "../../../../dev-env/k3s/setting-values.ts";
import { type Choices, parseSettings } from "../../../../dev-env/k3s/settings.ts";

const DEFAULTS = {
  controlPlanes: 1,
  controlPlaneType: "cx23",
  workers: 2,
  workerType: "cx23",
  pools: [{ name: "worker", count: 2, type: "cx23", labels: {}, taints: [] }],
  location: "fsn1",
  zone: "eu-central",
  network: "10.0.0.0/8",
  subnet: "10.0.0.0/24",
  pods: "10.244.0.0/16",
  k3sChannel: "stable",
  image: "",
  allowFrom: ["0.0.0.0/0", "::/0"],
};

const load = (choices: Choices) => parseSettings(choices);

function mistakesOf(choices: Choices, others: readonly string[] = []): readonly string[] {
  try {
    parseSettings(choices, others);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

describe("settings", () => {
  it("have defaults", () => {
    expect(load({})).toEqual(DEFAULTS);
  });

  it("are refused with every mistake at once, including others", () => {
    const pools = `[{name: Gpu, count: 11, type: big, sort: a, labels: {"a b": c}, taints: ["x:Never"]}, {name: api}]`;
    const choices = { workers: "11", location: "mars", pods: "10.0.0.0/16", pools };
    expect(mistakesOf(choices, ["HCLOUD_TOKEN is not set"])).toEqual([
      "HCLOUD_TOKEN is not set",
      'workers: "11" is not a whole number from 0 to 10',
      'location: "mars" is not one of fsn1, nbg1, hel1, ash, hil, sin',
      expect.stringMatching(/^pools\[0\]\.name: "Gpu" is not a name/),
      "pools[0].count: 11 is not a whole number from 0 to 10",
      'pools[0].type: "big" is not a server type such as cx23',
      expect.stringMatching(/^pools\[0\]\.labels: \{"a b":"c"\} is not a map of labels that a kubelet may set/),
      'pools[0].taints: ["x:Never"] is not a list of taints such as dedicated=gpu:NoSchedule',
      "pools[0].sort: sort is not one of name, count, type, labels, taints",
      expect.stringMatching(/^pools\[1\]\.name: "api" is not a name/),
      "pools[1].count: undefined is not a whole number from 0 to 10",
      "pods: 10.0.0.0/16 overlaps with 10.0.0.0/24, the servers",
    ]);
  });

  it.each<[keyof Choices, readonly string[]]>([
    ["controlPlanes", ["0", "2", "4", "", "three"]],
    ["workers", ["-1", "1.5", "", "two"]],
    ["controlPlaneType", ["", "CX23", "cx", "cx23 ", "cx23\n"]],
    ["k3sChannel", ["", "stable; reboot", "v1", "v1.34.2", "$(id)", "stable\n"]],
    [
      "image",
      ["lotse", "registry.example/lotse", "lotse:", "lotse:dev dev", "lotse:dev\n", `lotse@sha256:${"0".repeat(64)}`],
    ],
    ["allowFrom", ["", "10.0.0.1", "10.0.0.0/33", "10.0.0.0/8,,", "anywhere", "198.51.100.7/24", "2001:db8::1/32"]],
    ["network", ["", "10.0.0.1/8", "8.0.0.0/8", "10.0.0.0", "fd00::/8"]],
    [
      "pools",
      [
        "text",
        "{}",
        "[1]",
        "[{]",
        "[{name: a, count: 1}, {name: a, count: 1}]",
        "[{name: worker, count: 1}]",
        "[{name: control-plane-gpu, count: 1}]",
        "[[]]",
        "[{name: a, count: 1, labels: [x]}]",
        "[{name: a, count: 1, labels: {node-role.kubernetes.io/worker: ''}}]",
        "[{name: a, count: 1, labels: {topology.kubernetes.io/zone: x}}]",
        "[{name: a, count: 1, labels: {k8s.io/x: y}}]",
        "[{name: a, count: 1, taints: x}]",
      ],
    ],
  ])("refuse values of %s that would end up in a name, a shell or a firewall", (name, texts) => {
    for (const text of texts) expect(mistakesOf({ [name]: text }), JSON.stringify(text)).not.toEqual([]);
  });

  it.each<[string, Choices, string]>([
    [
      "a network without room",
      { network: "10.0.0.0/25" },
      "pods: the network 10.0.0.0/25 has no room for servers and pods",
    ],
    [
      "a network without the pods",
      { network: "10.0.0.0/16" },
      "pods: 10.244.0.0/16 is not inside the network 10.0.0.0/16",
    ],
    [
      "pods in the place of servers",
      { pods: "10.0.0.0/16" },
      "pods: 10.0.0.0/16 overlaps with 10.0.0.0/24, the servers",
    ],
    [
      "pods in the place of Services",
      { pods: "10.43.0.0/16" },
      "pods: 10.43.0.0/16 overlaps with 10.43.0.0/16, the Services of k3s",
    ],
    [
      "servers in the place of Services",
      { network: "10.43.0.0/16", pods: "10.43.128.0/17" },
      "network: 10.43.0.0/24, its range for servers, overlaps with 10.43.0.0/16, the Services of k3s",
    ],
    [
      "pods around the public gateway",
      { network: "172.16.0.0/12", pods: "172.31.0.0/16" },
      "pods: 172.31.0.0/16 contains 172.31.1.1, the public gateway of servers: the API accepts no route to it",
    ],
    [
      "a range of pods that is smaller than that of one node",
      { pods: "10.1.0.0/25" },
      "pods: 10.1.0.0/25 has room for 0 nodes with 256 addresses each, not 3",
    ],
    [
      "a range of pods without room for every node",
      { pods: "10.1.0.0/22", controlPlanes: "3", pools: "[{name: gpu, count: 1}]" },
      "pods: 10.1.0.0/22 has room for 4 nodes with 256 addresses each, not 6",
    ],
  ])("refuse %s", (_, choices, mistake) => {
    expect(mistakesOf(choices)).toEqual([mistake]);
  });

  it.each<[keyof Choices, string, object]>([
    ["workers", "0", { workers: 0 }],
    ["controlPlanes", "3", { controlPlanes: 3 }],
    ["location", "ash", { zone: "us-east" }],
    ["pods", "10.1.0.0/22", { pods: "10.1.0.0/22" }],
    [
      "pools",
      "[{name: gpu, count: 1, labels: {example.com/gpu: a, node.kubernetes.io/gpu: b, io: c}}]",
      { pools: [{}, { labels: { "example.com/gpu": "a", "node.kubernetes.io/gpu": "b", io: "c" } }] },
    ],
    ["k3sChannel", "v1.34", { k3sChannel: "v1.34" }],
    ["image", "registry.example:5000/team/lotse:dev", { image: "registry.example:5000/team/lotse:dev" }],
    ["allowFrom", "198.51.100.7/32, 2001:db8::/32", { allowFrom: ["198.51.100.7/32", "2001:db8::/32"] }],
  ])("accept %s %j", (name, text, expected) => {
    expect(load({ [name]: text })).toMatchObject(expected);
  });

  it("have further pools after the workers, of their type unless they name one", () => {
    const pools =
      "- {name: gpu, count: 1, type: ccx13, labels: {gpu: 1}, taints: [gpu=1:NoSchedule]}\n- {name: spot, count: 0}";
    expect(load({ workers: "1", workerType: "cx33", pools }).pools).toEqual([
      { name: "worker", count: 1, type: "cx33", labels: {}, taints: [] },
      { name: "gpu", count: 1, type: "ccx13", labels: { gpu: "1" }, taints: ["gpu=1:NoSchedule"] },
      { name: "spot", count: 0, type: "cx33", labels: {}, taints: [] },
    ]);
  });
});

describe("the name of an environment", () => {
  it.each(["", "Dev", "dev_1", "-dev", "dev-", "1dev", "a".repeat(31), "dev\n", "dev;reboot", "../dev"])(
    "is not %j",
    (name) => {
      expect(environmentName(name)).toHaveProperty("allowed");
    },
  );

  it.each(["a", "dev", "lotse-dev", "a".repeat(30)])("may be %j", (name) => {
    expect(environmentName(name)).toEqual({ value: name });
  });
});

describe("an SSH key", () => {
  const { sshKey } = makeSecrets("dev");

  it("is a public one", () => {
    expect(publicKey(`${sshKey.publicKey}\n`)).toEqual({ value: sshKey.publicKey });
  });

  it.each([
    "",
    "ssh-ed25519",
    "ssh-ed25519 AAAA",
    "~/.ssh/id.pub",
    sshKey.privateKey,
    `${sshKey.publicKey}\nssh-rsa AAAA`,
  ])("is not %j", (text) => {
    expect(publicKey(text)).toHaveProperty("allowed");
  });
});
