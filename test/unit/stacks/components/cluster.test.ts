import * as pulumi from "@pulumi/pulumi";
import { afterEach, describe, expect, it } from "vitest";
import { Cluster, type ClusterArgs, type Machine } from "../../../../stacks/components/index.ts";
import { declared, resolved } from "../../../support/declared.ts";

afterEach(() => pulumi.runtime.disconnectSync());

const LABELS = { environment: "dev" };

/** Declares a cluster whose machines boot with a description of themselves. */
async function build(given: Partial<ClusterArgs> = {}) {
  const computed = (type: string, name: string) =>
    type.endsWith(":LoadBalancer") ? { ipv4: "192.0.2.9" } : { ipv4Address: `address of ${name.split("#")[1]}` };
  const userData = ({ apiPublicIp, controlPlaneId, ...machine }: Machine) =>
    pulumi.jsonStringify({ ...machine, apiPublicIp, controlPlaneId });
  const args = {
    name: "dev",
    labels: LABELS,
    location: "fsn1",
    network: { ipRange: "10.0.0.0/8", subnet: "10.0.0.0/24", zone: "eu-central" },
    image: "ubuntu-24.04",
    sshPublicKey: "ssh-ed25519 AAAA",
    allowFrom: ["0.0.0.0/0", "::/0"],
    apiPort: 6443,
    controlPlanes: { count: 1, serverType: "cx23" },
    pools: [{ name: "worker", count: 2, serverType: "cx33" }],
    userData,
    ...given,
  };
  const { outputs, part, found, names } = await declared(() => new Cluster("dev", args), computed);
  const bootOf = (name: string) =>
    JSON.parse(secretText(part(name)?.inputs.userData)) as Readonly<Record<string, unknown>>;
  return { cluster: outputs, part, found, names, bootOf };
}

/** A secret as the mocks receive it. */
function secretText(input: unknown): string {
  return typeof input === "object" && input !== null && "value" in input ? String(input.value) : "";
}

describe("a cluster with one control plane", () => {
  it("has a network, a firewall, an SSH key and its servers, each with name and labels", async () => {
    const { found, names } = await build();
    expect(names.filter((name) => name.includes("#"))).toEqual([
      "dev#ssh-key",
      "dev-control-plane#placement-group",
      "dev-control-plane#server-1",
      "dev-firewall#firewall",
      "dev-network#network",
      "dev-network#subnet-machines",
      "dev-worker#placement-group",
      "dev-worker#server-1",
      "dev-worker#server-2",
    ]);
    const labelled = [...found.values()].filter(({ name }) => name.includes("#") && !name.includes("subnet"));
    for (const { inputs } of labelled) expect(inputs).toMatchObject({ labels: LABELS });
    expect(labelled.map(({ inputs }) => inputs.name).toSorted()).toEqual([
      "dev-control-plane",
      "dev-control-plane-1",
      "dev-firewall",
      "dev-network",
      "dev-ssh-key",
      "dev-worker",
      "dev-worker-1",
      "dev-worker-2",
    ]);
  });

  it("replaces its SSH key in place of the old one, because names are unique", async () => {
    const { part } = await build();
    expect(part("dev#ssh-key")).toMatchObject({ deleteBeforeReplace: true });
  });

  it("lets workers join the control plane, and replaces them with it", async () => {
    const { bootOf, cluster } = await build();
    expect(bootOf("dev-control-plane#server-1")).toEqual({
      role: "control-plane",
      pool: "control-plane",
      index: 1,
      ip: "10.0.0.31",
      apiIp: "10.0.0.31",
    });
    expect(bootOf("dev-worker#server-2")).toEqual({
      role: "worker",
      pool: "worker",
      index: 2,
      ip: "10.0.0.42",
      apiIp: "10.0.0.31",
      controlPlaneId: 42,
    });
    expect(cluster.apiBalancer).toBeUndefined();
    expect(await resolved(cluster.apiAddress)).toBe("address of server-1");
  });
});

const three = { controlPlanes: { count: 3, serverType: "cx23" } };
const hostOf = (ip: unknown) => Number(String(ip).split(".").at(-1));

describe("a cluster with three control planes", () => {
  it("puts the API behind a load balancer, through which everything joins", async () => {
    const { part, bootOf, cluster } = await build(three);
    expect(part("dev-api#network")?.inputs).toMatchObject({ ip: "10.0.0.39", enablePublicInterface: true });
    expect(part("dev-api#listener-6443")?.inputs).toMatchObject({ listenPort: 6443, destinationPort: 6443 });
    for (const index of [1, 2, 3])
      expect(part(`dev-api#control-plane-${index}`)?.inputs).toMatchObject({ serverId: 42, usePrivateIp: true });
    const api = { apiIp: "10.0.0.39", apiPublicIp: "192.0.2.9" };
    expect(bootOf("dev-control-plane#server-3")).toMatchObject({ index: 3, ip: "10.0.0.33", ...api });
    // A new control plane joins the others, so that workers stay.
    expect(bootOf("dev-worker#server-1")).toMatchObject(api);
    expect(bootOf("dev-worker#server-1")).not.toHaveProperty("controlPlaneId");
    expect(await resolved(cluster.apiAddress)).toBe("192.0.2.9");
  });

  it("keeps the load balancer off the internet if not everyone may reach the API: no firewall protects it", async () => {
    const { part, cluster } = await build({ ...three, allowFrom: ["198.51.100.0/24"] });
    expect(part("dev-api#network")?.inputs).toMatchObject({ enablePublicInterface: false });
    expect(await resolved(cluster.apiAddress)).toBe("address of server-1");
  });
});

describe("the addresses", () => {
  it("leave the lowest ones to load balancers of the controller, which get the first that is free", async () => {
    const before = await build();
    const after = await build(three);
    // Later machines must not need what a load balancer has got meanwhile.
    for (const { bootOf } of [before, after])
      expect(hostOf(bootOf("dev-control-plane#server-1").ip)).toBeGreaterThan(30);
    expect(hostOf(after.bootOf("dev-control-plane#server-2").ip)).toBeGreaterThan(30);
  });
});

describe("worker pools", () => {
  it("get ten addresses each, in the order of the list", async () => {
    const pools = ["a", "b", "c"].map((name) => ({ name, count: 10, serverType: "cx23" }));
    const { bootOf } = await build({ pools });
    const addresses = ["a#server-1", "a#server-10", "b#server-1", "c#server-10"].map(
      (name) => bootOf(`dev-${name}`).ip,
    );
    expect(addresses).toEqual(["10.0.0.41", "10.0.0.50", "10.0.0.51", "10.0.0.70"]);
  });

  it("may span the whole of a large subnet", async () => {
    const network = { ipRange: "10.0.0.0/8", subnet: "10.0.240.0/20", zone: "eu-central" };
    const pools = Array.from({ length: 30 }, (_, index) => ({ name: `p${index}`, count: 1, serverType: "cx23" }));
    expect((await build({ network, pools })).bootOf("dev-p29#server-1").ip).toBe("10.0.241.75");
  });

  it("are refused if they are larger than their addresses", async () => {
    const pools = [{ name: "worker", count: 11, serverType: "cx23" }];
    await expect(build({ pools })).rejects.toThrow("pool worker: at most 10 machines, not 11");
  });
});
