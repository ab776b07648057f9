import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { adaptKubeconfig, fetchKubeconfig, HostKeyError, type SshTarget } from "../../../../dev-env/k3s/kubeconfig.ts";
import { makeSecrets } from "../../../../dev-env/k3s/secrets.ts";
import { type SshAnswer, SshServer } from "../../../support/ssh-server.ts";

const secrets = makeSecrets("dev");
const others = makeSecrets("other");

const K3S = `apiVersion: v1
kind: Config
clusters:
- {name: default, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}}
users:
- {name: default, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}
contexts:
- {name: default, context: {cluster: default, user: default}}
current-context: default
`;

const ready = (): SshAnswer => ({ stdout: K3S, code: 0 });
const start = (answer = ready, hostKey = secrets.hostKey, port = 0) =>
  SshServer.start({ hostKey, authorized: secrets.sshKey, answer, port });
const target = (port: number): SshTarget => ({
  host: "127.0.0.1",
  port,
  privateKey: secrets.sshKey.privateKey,
  hostKey: secrets.hostKey,
});
const QUICK = { deadlineMs: 5_000, intervalMs: 20, attemptMs: 5_000 };

/** A port on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe("fetching the kubeconfig", () => {
  it("gives what k3s wrote, from the server with the pinned host key", async () => {
    await using server = await start();
    expect(await fetchKubeconfig(target(server.port), QUICK)).toBe(K3S);
    expect(server.commands).toHaveLength(1);
    expect(server.commands[0]).toContain("/etc/rancher/k3s/k3s.yaml");
  });

  it("refuses a server with another host key at once, before it logs in", async () => {
    await using server = await start(ready, others.hostKey);
    const started = performance.now();
    await expect(fetchKubeconfig(target(server.port), { ...QUICK, deadlineMs: 60_000 })).rejects.toThrow(HostKeyError);
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(server.logins).toBe(0);
    expect(server.commands).toEqual([]);
  });

  it("waits for sshd, and says why it waits", async () => {
    const port = await freePort();
    const reasons: string[] = [];
    const fetching = fetchKubeconfig(target(port), { ...QUICK, onWait: (reason) => reasons.push(reason) });
    await delay(100);
    await using _server = await start(ready, secrets.hostKey, port);
    expect(await fetching).toBe(K3S);
    expect(reasons[0]).toBe("it does not take SSH connections yet");
  });

  it("waits for k3s, and passes on what the machine says of its first boot", async () => {
    let asked = 0;
    const reasons: string[] = [];
    await using server = await start(() =>
      ++asked < 3 ? { stderr: "status: running\ninstalling …", code: 1 } : ready(),
    );
    expect(await fetchKubeconfig(target(server.port), { ...QUICK, onWait: (it) => reasons.push(it) })).toBe(K3S);
    expect(reasons).toEqual(["status: running", "status: running"]);
  });

  it("gives up at its deadline with the last reason", async () => {
    await using server = await start(() => ({ stderr: "status: error\nno space left", code: 1 }));
    const fetching = fetchKubeconfig(target(server.port), { ...QUICK, deadlineMs: 300 });
    await expect(fetching).rejects.toThrow(/no kubeconfig from 127\.0\.0\.1 .*status: error\nno space left/s);
  });

  it("gives up on a server that accepts connections and says nothing", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const started = performance.now();
    await expect(fetchKubeconfig(target(port), { ...QUICK, deadlineMs: 200, attemptMs: 100 })).rejects.toThrow(
      /no kubeconfig/,
    );
    expect(performance.now() - started).toBeLessThan(2_000);
    silent.close();
  });

  it("waits when its key is not let in yet, as on a machine that is still being set up", async () => {
    await using server = await SshServer.start({
      hostKey: secrets.hostKey,
      authorized: others.sshKey,
      answer: ready,
    });
    const fetching = fetchKubeconfig(target(server.port), { ...QUICK, deadlineMs: 300, intervalMs: 100 });
    await expect(fetching).rejects.toThrow(/no kubeconfig .*authentication/s);
    expect(server.logins).toBeGreaterThan(1);
    expect(server.commands).toEqual([]);
  });

  it("ends when it is told to", async () => {
    const stop = new AbortController();
    const port = await freePort();
    const fetching = fetchKubeconfig(target(port), {
      ...QUICK,
      deadlineMs: 120_000,
      intervalMs: 60_000,
      signal: stop.signal,
      onWait: () => stop.abort(),
    });
    await expect(fetching).rejects.toThrow(/aborted/);
  }, 5_000);
});

describe("a kubeconfig for use from here", () => {
  it("leads to the public address and carries the environment's name, credentials untouched", () => {
    expect(parse(adaptKubeconfig(K3S, "dev", "203.0.113.7"))).toEqual({
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        { name: "dev", cluster: { server: "https://203.0.113.7:6443", "certificate-authority-data": "Y2E=" } },
      ],
      users: [{ name: "dev", user: { "client-certificate-data": "Y2VydA==", "client-key-data": "a2V5" } }],
      contexts: [{ name: "dev", context: { cluster: "dev", user: "dev" } }],
      "current-context": "dev",
    });
  });

  it.each(["", "clusters: []", "just: text"])("is refused when there is nothing to lead to: %j", (text) => {
    expect(() => adaptKubeconfig(text, "dev", "203.0.113.7")).toThrow();
  });
});
