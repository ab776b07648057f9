/** The test cluster: users, nodes, crashes and cleanup. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { fileURLToPath } from "node:url";
import { CoordinationV1Api, CoreV1Api, RbacAuthorizationV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mergePatch } from "../../dev-env/cluster/api.ts";
import { type Cluster, connect, startCluster } from "../../dev-env/cluster/cluster.ts";
import { eventually } from "../support/eventually.ts";

let cluster: Cluster;
let core: CoreV1Api;
beforeAll(async () => {
  cluster = await startCluster();
  core = connect(cluster.kubeconfig, CoreV1Api);
});
afterAll(() => cluster?.stop());

describe("users", () => {
  it("have no permissions until RBAC grants them", async () => {
    const nobody = connect(await cluster.kubeconfigFor({ name: "nobody" }), CoreV1Api);
    await expect(nobody.listNode()).rejects.toMatchObject({ code: 403 });
    await allow("nobody-reads-nodes", { kind: "Group", name: "readers", apiGroup: "rbac.authorization.k8s.io" });
    const reader = connect(await cluster.kubeconfigFor({ name: "nobody", groups: ["readers"] }), CoreV1Api);
    await eventually(() => reader.listNode());
    await expect(nobody.listNode()).rejects.toMatchObject({ code: 403 });
  });

  it("can be service accounts, with their groups", async () => {
    const name = "system:serviceaccount:kube-system:lotse";
    const account = connect(await cluster.kubeconfigFor({ name }), CoreV1Api);
    await expect(account.listNode()).rejects.toMatchObject({ code: 403 });
    await allow("lotse", { kind: "ServiceAccount", name: "lotse", namespace: "kube-system" });
    await eventually(() => account.listNode());
  });

  it("have keys in files that only the owner can read", async () => {
    for (const path of [cluster.dir, cluster.kubeconfig, await cluster.kubeconfigFor({ name: "someone" })]) {
      expect((await stat(path)).mode & 0o077).toBe(0);
    }
  });

  async function allow(name: string, subject: { kind: string; name: string; namespace?: string; apiGroup?: string }) {
    const rbac = connect(cluster.kubeconfig, RbacAuthorizationV1Api);
    const rules = [{ apiGroups: [""], resources: ["nodes"], verbs: ["list"] }];
    await rbac.createClusterRole({ body: { metadata: { name }, rules } });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    await rbac.createClusterRoleBinding({ body: { metadata: { name }, roleRef, subjects: [subject] } });
  }
});

describe("a node", () => {
  it("registers like a kubelet with an external cloud provider", async () => {
    await cluster.registerNode({
      name: "registers",
      nodeIp: "10.0.0.2",
      podCidrs: ["10.244.0.0/24"],
      labels: { team: "blue" },
    });
    const node = await core.readNode({ name: "registers" });
    expect(node.metadata?.labels).toEqual({
      "beta.kubernetes.io/arch": "amd64",
      "beta.kubernetes.io/os": "linux",
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": "registers",
      "kubernetes.io/os": "linux",
      team: "blue",
    });
    expect(node.metadata?.annotations).toEqual({
      "alpha.kubernetes.io/provided-node-ip": "10.0.0.2",
      "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    });
    expect(node.spec).toEqual({
      podCIDR: "10.244.0.0/24",
      podCIDRs: ["10.244.0.0/24"],
      taints: [{ key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" }],
    });
    expect(node.status?.addresses).toEqual([
      { type: "InternalIP", address: "10.0.0.2" },
      { type: "Hostname", address: "registers" },
    ]);
    expect(readiness(node.status?.conditions)).toBe("True");
  });

  it("has neither annotation nor address without a node IP", async () => {
    await cluster.registerNode({ name: "plain" });
    const node = await core.readNode({ name: "plain" });
    expect(node.metadata?.annotations).not.toHaveProperty("alpha.kubernetes.io/provided-node-ip");
    expect(node.status?.addresses).toEqual([{ type: "Hostname", address: "plain" }]);
  });

  it("renews its Lease until it is stopped", async () => {
    const leases = connect(cluster.kubeconfig, CoordinationV1Api);
    const renewal = async (name: string) => {
      const lease = await leases.readNamespacedLease({ name, namespace: "kube-node-lease" });
      // Contrary to its type, the client returns a string.
      return new Date(lease.spec?.renewTime ?? 0).getTime();
    };
    const isRenewed = async (name: string) => {
      const before = await renewal(name);
      await eventually(async () => expect(await renewal(name)).toBeGreaterThan(before));
    };
    const stopped = await cluster.registerNode({ name: "stopped", leaseRenewMs: 20 });
    await isRenewed("stopped");
    await stopped.stop();
    const last = await renewal("stopped");
    await cluster.registerNode({ name: "beats", leaseRenewMs: 20 });
    for (let beat = 0; beat < 3; beat++) await isRenewed("beats");
    expect(await renewal("stopped")).toBe(last);
    expect((await core.readNode({ name: "stopped" })).metadata?.name).toBe("stopped");
  });

  it("does not overwrite addresses and conditions of others", async () => {
    const node = await cluster.registerNode({ name: "shares", nodeIp: "10.0.0.3", statusReportMs: 50 });
    const addresses = [{ type: "ExternalIP", address: "192.0.2.1" }];
    const conditions = [{ type: "NetworkUnavailable", status: "False", reason: "RouteCreated" }];
    const body = { status: { addresses: [{ $patch: "replace" }, ...addresses], conditions } };
    await core.patchNodeStatus({ name: "shares", body }, mergePatch());
    await node.setReady(false);
    const { status } = await core.readNode({ name: "shares" });
    expect(readiness(status?.conditions)).toBe("False");
    expect(status?.addresses).toEqual(addresses);
    expect(status?.conditions?.map(({ type }) => type)).toContain("NetworkUnavailable");
  });

  it("has the permissions of a node only", async () => {
    await cluster.registerNode({ name: "humble" });
    const identity = { name: "system:node:humble", groups: ["system:nodes"] };
    const humble = connect(await cluster.kubeconfigFor(identity), CoreV1Api);
    const body = { metadata: { labels: { mine: "now" } } };
    await expect(humble.patchNode({ name: "plain", body }, mergePatch())).rejects.toMatchObject({ code: 403 });
  });

  it("can be registered again, as after a restart of its kubelet, and deleted", async () => {
    const first = await cluster.registerNode({ name: "returns" });
    await first.stop();
    const second = await cluster.registerNode({ name: "returns", isReady: false });
    expect(readiness((await core.readNode({ name: "returns" })).status?.conditions)).toBe("False");
    await second.delete();
    await expect(core.readNode({ name: "returns" })).rejects.toMatchObject({ code: 404 });
  });

  function readiness(conditions: readonly { type: string; status: string }[] | undefined) {
    return conditions?.find(({ type }) => type === "Ready")?.status;
  }
});

describe("the API server", () => {
  it("restarts with its data on the same port after a crash", async () => {
    const { url } = cluster;
    await core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name: "kept" } } });
    const pid = cluster.apiServer.pid;
    await cluster.restartApiServer();
    expect(cluster.apiServer.pid).not.toBe(pid);
    expect(cluster.url).toBe(url);
    await core.readNamespacedConfigMap({ name: "kept", namespace: "default" });
  });

  it("does not respond while it is paused", async () => {
    cluster.apiServer.pause();
    try {
      // A busy machine delivers the signal late.
      await eventually(() => expect(processState(cluster.apiServer.pid)).toMatch(/^T/));
      const answer = core.listNamespace().then(() => "answered");
      const patience = eventually(() => Promise.reject(new Error("silent")), { timeoutMs: 300 });
      await expect(Promise.race([answer, patience])).rejects.toThrow("silent");
      cluster.apiServer.resume();
      expect(await answer).toBe("answered");
    } finally {
      cluster.apiServer.resume();
    }
  });

  it("reports the end of its log if it does not start", async () => {
    const failure = startCluster({ apiServerFlags: ["--no-such-flag"] });
    await expect(failure).rejects.toThrow(/kube-apiserver exited with code 1 .*unknown flag: --no-such-flag/s);
  });
});

describe("cleanup", () => {
  it("leaves no process, port or folder, and does not affect other clusters", async () => {
    const other = await startCluster();
    await other.registerNode({ name: "n1" });
    const { dir, url } = other;
    const pids = [other.etcd.pid, other.apiServer.pid];
    await other.stop();
    await other.stop();
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(await isListening(url)).toBe(false);
    expect(existsSync(dir)).toBe(false);
    await core.listNamespace();
  });

  it("also happens if the process that started the cluster is killed", async () => {
    const module = fileURLToPath(new URL("../../dev-env/cluster/cluster.ts", import.meta.url));
    const script = `
      const { startCluster } = await import(${JSON.stringify(module)});
      const { dir, url, etcd, apiServer } = await startCluster();
      process.stdout.write(JSON.stringify({ dir, url, pids: [etcd.pid, apiServer.pid] }));`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await once(owner.stdout, "data");
    const { dir, url, pids } = JSON.parse(String(output));
    expect(pids.map(isRunning)).toEqual([true, true]);
    owner.kill("SIGKILL");
    await eventually(() => expect(pids.map(isRunning)).toEqual([false, false]));
    await eventually(() => expect(existsSync(dir)).toBe(false));
    // Threads of a killed process may hold its port a moment longer.
    await eventually(async () => expect(await isListening(url)).toBe(false));
  });

  /** Zombies do not count as running. */
  function isRunning(pid: number | undefined): boolean {
    try {
      const state = execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
      return !state.startsWith("Z");
    } catch {
      return false;
    }
  }

  function isListening(url: string): Promise<boolean> {
    const { hostname, port } = new URL(url);
    const socket = connectSocket({ host: hostname, port: Number(port) });
    const answer = new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    return answer.finally(() => socket.destroy());
  }
});

/** `T` when it is stopped. */
function processState(pid = 0): string {
  return execFileSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" }).trim();
}
