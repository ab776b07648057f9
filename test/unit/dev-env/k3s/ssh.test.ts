import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Folder } from "../../../../dev-env/k3s/environment.ts";
import { makeSecrets, type Secrets } from "../../../../dev-env/k3s/secrets.ts";
import { adaptKubeconfig, fetchKubeconfig } from "../../../../dev-env/k3s/ssh.ts";
import { Screen } from "../../../../dev-env/terminal/screen.ts";
import { type SshAnswer, SshServer } from "../../../support/ssh-server.ts";

const others = makeSecrets("other");
let directory: string;
let folder: Folder;
let secrets: Secrets;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "lotse-ssh-"));
  folder = new Folder("dev", directory);
  secrets = await folder.secrets("dev");
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const K3S = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2E=
    server: https://127.0.0.1:6443
  name: default
contexts:
- context:
    cluster: default
    user: default
  name: default
current-context: default
kind: Config
preferences: {}
users:
- name: default
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
`;

const ready = (): SshAnswer => ({ stdout: K3S, code: 0 });
const start = (answer = ready, hostKey = secrets.hostKey, port = 0) =>
  SshServer.start({ hostKey, authorized: secrets.sshKey, answer, port });
const QUICK = { deadlineMs: 30_000, intervalMs: 20, attemptMs: 10_000 };

type Patience = Parameters<typeof fetchKubeconfig>[2];

const fetchFrom = (port: number, patience: Patience = {}, signal = new AbortController().signal, own = folder) => {
  const env = { folder: own, name: "dev", screen: new Screen({ write: () => {} }), signal };
  return fetchKubeconfig(env, "127.0.0.1", { ...QUICK, ...patience, port });
};

/** A port on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe("fetching the kubeconfig", { timeout: 60_000 }, () => {
  it("returns what k3s wrote, from the server with the pinned host key", async () => {
    await using server = await start();
    expect(await fetchFrom(server.port)).toBe(K3S);
    expect(server.commands).toHaveLength(1);
    expect(server.commands[0]).toContain("/etc/rancher/k3s/k3s.yaml");
  });

  it("refuses a server with another host key at once, before it logs in", async () => {
    await using server = await start(ready, others.hostKey);
    const started = performance.now();
    await expect(fetchFrom(server.port, { deadlineMs: 60_000 })).rejects.toThrow(/unexpected host key/);
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(server.logins).toBe(0);
    expect(server.commands).toEqual([]);
  });

  it("waits for sshd, and says why it waits", async () => {
    const port = await freePort();
    const reasons: string[] = [];
    const fetching = fetchFrom(port, { onWait: (reason) => reasons.push(reason) });
    while (reasons.length === 0) await delay(20);
    await using _server = await start(ready, secrets.hostKey, port);
    expect(await fetching).toBe(K3S);
    expect(reasons[0]).toContain("Connection refused");
  });

  it("waits for k3s, and passes on what the machine says of its first boot", async () => {
    let asked = 0;
    const reasons: string[] = [];
    await using server = await start(() =>
      ++asked < 3 ? { stderr: "status: running\ninstalling …", code: 1 } : ready(),
    );
    expect(await fetchFrom(server.port, { onWait: (it) => reasons.push(it) })).toBe(K3S);
    expect(reasons).toEqual(["status: running", "status: running"]);
  });

  it("waits for its control plane while another command connects to another one", async () => {
    await using other = await start();
    await using server = await start(() =>
      other.commands.length > 0 ? ready() : { stderr: "status: running", code: 1 },
    );
    const first = Promise.withResolvers<string>();
    const waiting = fetchFrom(server.port, { onWait: first.resolve });
    await first.promise;
    expect(await fetchFrom(other.port)).toBe(K3S);
    expect(await waiting).toBe(K3S);
  });

  it("works in a folder whose path contains a space", async () => {
    const spaced = new Folder("dev", join(directory, "my projects"));
    const own = await spaced.secrets("dev");
    await using server = await SshServer.start({ hostKey: own.hostKey, authorized: own.sshKey, answer: ready });
    expect(await fetchFrom(server.port, {}, undefined, spaced)).toBe(K3S);
  });

  it("does not wait on a machine without the ssh command", async () => {
    const { PATH } = process.env;
    process.env.PATH = directory;
    try {
      await expect(fetchFrom(await freePort(), { intervalMs: 60_000 })).rejects.toThrow(/install OpenSSH/);
    } finally {
      process.env.PATH = PATH;
    }
  }, 10_000);

  it("gives up at its deadline with the last reason", async () => {
    await using server = await start(() => ({ stderr: "status: error\nno space left", code: 1 }));
    const fetching = fetchFrom(server.port, { deadlineMs: 300 });
    await expect(fetching).rejects.toThrow(/no kubeconfig from 127\.0\.0\.1 .*status: error\nno space left/s);
  });

  it("gives up on a server that accepts connections and says nothing", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const started = performance.now();
    await expect(fetchFrom(port, { deadlineMs: 200, attemptMs: 100 })).rejects.toThrow(/no kubeconfig/);
    expect(performance.now() - started).toBeLessThan(10_000);
    silent.close();
  });

  it("waits if its key is not accepted yet, as on a machine that is still being set up, and finally names the remedy", async () => {
    await using server = await SshServer.start({
      hostKey: secrets.hostKey,
      authorized: others.sshKey,
      answer: ready,
    });
    const fetching = fetchFrom(server.port, { deadlineMs: 3_000, intervalMs: 1_000 });
    await expect(fetching).rejects.toThrow(/no kubeconfig .*Permission denied/);
    await expect(fetching).rejects.toThrow(
      `\nThe server does not accept the SSH key in ${folder.path}: restore that folder, ` +
        'or run "npm run dev-env down" and "npm run dev-env up"',
    );
    expect(server.logins).toBeGreaterThan(0);
    expect(server.commands).toEqual([]);
  });

  it("ends when the user stops it", async () => {
    const stop = new AbortController();
    const port = await freePort();
    const patience = { deadlineMs: 120_000, intervalMs: 60_000, onWait: () => stop.abort() };
    const fetching = fetchFrom(port, patience, stop.signal);
    await expect(fetching).rejects.toThrow(/aborted/);
  });
});

describe("a kubeconfig for this machine", () => {
  it("has the public address and carries the environment's name, credentials untouched", () => {
    expect(parse(adaptKubeconfig(K3S, "dev", "203.0.113.7"))).toEqual({
      apiVersion: "v1",
      kind: "Config",
      preferences: {},
      clusters: [
        { name: "dev", cluster: { server: "https://203.0.113.7:6443", "certificate-authority-data": "Y2E=" } },
      ],
      users: [{ name: "dev", user: { "client-certificate-data": "Y2VydA==", "client-key-data": "a2V5" } }],
      contexts: [{ name: "dev", context: { cluster: "dev", user: "dev" } }],
      "current-context": "dev",
    });
  });

  it.each(["", "clusters: []", "just: text"])("is refused in an unknown form: %j", (text) => {
    expect(() => adaptKubeconfig(text, "dev", "203.0.113.7")).toThrow();
  });
});
