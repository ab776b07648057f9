/** The demo's kubelets follow their servers. */

import { CoreV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { type Cluster, connect, startCluster } from "../../dev-env/cluster/cluster.ts";
import { Machines } from "../../dev-env/demo/machines.ts";
import { Pods } from "../../dev-env/demo/pods.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { eventually } from "../support/eventually.ts";

const GRACE_MS = 2_000;

describe("machines", () => {
  const ends = new AsyncDisposableStack();
  const said: string[] = [];
  let cloud: Cloud;
  let cluster: Cluster;
  let core: CoreV1Api;
  let network: number;

  beforeAll(async () => {
    cloud = ends.adopt(await startCloud(), (it) => it.stop());
    cluster = ends.adopt(await startCluster(), (it) => it.stop());
    core = connect(cluster.kubeconfig, CoreV1Api);
    network = cloud.addNetwork().id;
    for (const name of ["a", "b"]) cloud.addServer({ name, network });
    cloud.addServer({ name: "elsewhere" });
    const say = (_: string, text: string) => said.push(text);
    const parts = { cloud, cluster, pods: new Pods(cluster.kubeconfig), network, say, graceMs: GRACE_MS };
    const machines = ends.adopt(new Machines(parts), (it) => it.stop());
    await machines.start();
  });
  afterAll(() => ends.disposeAsync());

  const names = async () => (await core.listNode()).items.map(({ metadata }) => metadata?.name);
  const idOf = (name: string) => cloud.state.servers.find(name)?.id;
  const call = (method: string, path: string) => changeCloud(cloud, method, path);
  /** Status of the Ready condition, and the taints. */
  const look = async (name: string) => {
    const { spec, status } = await core.readNode({ name });
    const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status;
    return [ready, ...(spec?.taints ?? []).map(({ key, effect }) => `${key.split("/")[1]}:${effect}`)];
  };

  test("register for the servers of the network, and for no others", async () => {
    expect(await names()).toEqual(["a", "b"]);
    expect(await look("a")).toEqual(["True", "uninitialized:NoSchedule"]);
  });

  test("become unreachable when they are off, without losing others' taints, and return", async () => {
    await call("POST", `/servers/${idOf("a")}/actions/poweroff`);
    const taints = ["uninitialized:NoSchedule", "unreachable:NoSchedule", "unreachable:NoExecute"];
    await eventually(async () => expect(await look("a")).toEqual(["Unknown", ...taints]));
    await call("POST", `/servers/${idOf("a")}/actions/poweron`);
    await eventually(() => expect(said.at(-1)).toBe("a: the server runs again, kubelet reports Ready"));
    expect(await look("a")).toEqual(["True", "uninitialized:NoSchedule"]);
  });

  test("stay Ready when they are back within the grace period", async () => {
    said.length = 0;
    await call("POST", `/servers/${idOf("b")}/actions/poweroff`);
    await eventually(() => expect(said).toEqual(["b: the server is off, kubelet has stopped"]), { intervalMs: 20 });
    await call("POST", `/servers/${idOf("b")}/actions/poweron`);
    await eventually(() => expect(said.slice(1)).toEqual(["b: the server runs again, kubelet reports Ready"]));
    expect(await look("b")).toEqual(["True", "uninitialized:NoSchedule"]);
  });

  test("register again at the next boot if their Node was deleted", async () => {
    await core.deleteNode({ name: "b" });
    await call("POST", `/servers/${idOf("b")}/actions/poweroff`);
    await eventually(() => expect(said.at(-1)).toBe("b is NotReady: kubelet stopped posting node status"));
    expect(await names()).toEqual(["a"]);
    await call("POST", `/servers/${idOf("b")}/actions/poweron`);
    await eventually(() => expect(said.at(-1)).toBe("b: the server runs again, kubelet reports Ready"));
    expect(await look("b")).toEqual(["True", "uninitialized:NoSchedule"]);
    expect((await core.readNode({ name: "b" })).spec?.podCIDR).toBe("10.244.2.0/24");
  });

  test("survive an API server that is down while their server is switched off", async () => {
    await cluster.apiServer.kill();
    await call("POST", `/servers/${idOf("b")}/actions/poweroff`);
    await eventually(() => expect(said.at(-1)).toBe("b: the server is off, kubelet has stopped"));
    await cluster.apiServer.start();
    await eventually(async () => expect((await look("b"))[0]).toBe("Unknown"));
  });

  test("become unreachable if the API server fails half-way through their boot, and they go off", async () => {
    await call("POST", `/servers/${idOf("b")}/actions/poweron`);
    await eventually(async () => expect((await look("b"))[0]).toBe("True"), { intervalMs: 1 });
    await cluster.apiServer.kill();
    await call("POST", `/servers/${idOf("b")}/actions/poweroff`);
    await cluster.apiServer.start();
    await eventually(async () => expect((await look("b"))[0]).toBe("Unknown"));
  });

  test("become unreachable when their server is deleted, and join when one is created", async () => {
    await call("DELETE", `/servers/${idOf("a")}`);
    await eventually(async () => expect((await look("a"))[0]).toBe("Unknown"));
    cloud.addServer({ name: "c", network });
    const registered = 'c registered with the taint "uninitialized" and pod range 10.244.3.0/24';
    await eventually(() => expect(said.at(-1)).toBe(registered));
    expect((await core.readNode({ name: "c" })).spec?.podCIDR).toBe("10.244.3.0/24");
  });
});
