import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Authority } from "../../dev-env/cluster/certificates.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startConnectProxy, startTlsFront, type TlsFront } from "../support/tls-front.ts";
import { startWorld, type World } from "../support/world.ts";

/** A name that only the proxy can resolve. */
const API = "api.hetzner.test";
const [FIRST, SECOND] = ["1".repeat(64), "2".repeat(64)] as const;

describe("the connection to the Hetzner API", () => {
  let world: World;
  let front: TlsFront;
  let ends: AsyncDisposableStack;
  let authorityFile: string;
  let controller: ControllerProcess | undefined;

  beforeAll(async () => {
    ends = new AsyncDisposableStack();
    world = ends.use(await startWorld({ nodes: 1, cloud: { rateLimit: "off" } }));
    const authority = new Authority("a company's own authority");
    authorityFile = join(world.cluster.dir, "company.pem");
    await writeFile(authorityFile, `${new Authority("another one").certificate}${authority.certificate}`);
    const credential = authority.issue({ commonName: API }, { kind: "server", hosts: [API, "127.0.0.1"] });
    front = ends.use(await startTlsFront(world.cloud.url, credential, FIRST));
  });
  afterEach(async () => {
    await controller?.stop();
    controller = undefined;
    front.accept(FIRST);
  });
  afterAll(() => ends.disposeAsync());

  /** Starts a controller that uses the API over TLS. */
  function start(env: Readonly<Record<string, string | undefined>>): ControllerProcess {
    const endpoint = `https://127.0.0.1:${front.port}/v1`;
    controller = world.startController(["--resync=10m"], { HCLOUD_ENDPOINT: endpoint, HCLOUD_TOKEN: FIRST, ...env });
    return controller;
  }
  /** Creates a Service and waits for its load balancer. */
  async function serve(name: string): Promise<void> {
    const { metadata } = await world.createService(name);
    const owners = () => world.cloud.state.loadBalancers.values().map(({ labels }) => labels[SERVICE_UID_LABEL]);
    await eventually(() => expect(owners(), controller?.tail(5)).toContain(metadata?.uid), { timeoutMs: 60_000 });
    await eventually(async () => {
      const { status } = await world.core.readNamespacedService({ namespace: "default", name });
      expect(status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
    });
  }

  /** Waits until no request is under way: after a change, one more turn follows, and then none for minutes. */
  async function atRest(): Promise<void> {
    await eventually(async () => {
      const before = front.requests.length;
      await setTimeout(1_000);
      expect(front.requests).toHaveLength(before);
    });
  }

  it("HCCM E1: uses a new token in its file from the next call on, and tolerates a missing file", async () => {
    const file = join(world.cluster.dir, "token");
    await writeFile(file, `${FIRST}\n`);
    start({ HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: file, SSL_CERT_FILE: authorityFile });
    await serve("first-token");
    await writeFile(file, "");
    await serve("empty-file");
    await rm(file);
    await serve("no-file");
    await atRest(); // a request with one token must not arrive when only the other is valid
    expect(front.requests.every(({ token, status }) => token === FIRST && status < 400)).toBe(true);

    await writeFile(`${file}.new`, SECOND);
    await rename(`${file}.new`, file);
    front.accept(SECOND);
    const before = front.requests.length;
    await serve("second-token");
    const after = front.requests.slice(before);
    expect(new Set(after.map(({ token }) => token))).toEqual(new Set([SECOND]));
    expect(after.some(({ method }) => method === "POST")).toBe(true);
    expect(controller?.records("secret file unreadable, keeping the previous value").map(({ error }) => error)).toEqual(
      ["the file is empty", expect.stringContaining("ENOENT")],
    );
    expect(controller?.records("secret replaced")).toHaveLength(1);
    expect(controller?.records("controller running"), "no restart").toHaveLength(1);
    expect(controller?.output).not.toMatch(new RegExp(`${FIRST}|${SECOND}`));
  });

  it("uses the proxy of the environment for reads and writes, and trusts an additional certificate authority", async () => {
    await using proxy = await startConnectProxy(front.port);
    start({
      HCLOUD_ENDPOINT: `https://${API}/v1`,
      HTTPS_PROXY: `http://lotse:let-me-out@127.0.0.1:${proxy.port}`,
      NO_PROXY: "10.0.0.0/8,.svc,.cluster.local",
      SSL_CERT_FILE: authorityFile,
    });
    const before = front.requests.length;
    await serve("through-the-proxy");
    expect(front.requests.slice(before).some(({ method }) => method === "POST")).toBe(true);
    expect(new Set(proxy.tunnels.map(({ target }) => target))).toEqual(new Set([`${API}:443`]));
    expect(new Set(proxy.tunnels.map(({ credentials }) => credentials))).toEqual(new Set(["lotse:let-me-out"]));
    expect(controller?.output).not.toContain("let-me-out");
    await controller?.stop();
  });

  it("bypasses the proxy for NO_PROXY and for loopback", async () => {
    await using proxy = await startConnectProxy(front.port);
    const env = { HTTPS_PROXY: `127.0.0.1:${proxy.port}`, SSL_CERT_FILE: authorityFile };
    const lost = start({ ...env, HCLOUD_ENDPOINT: `https://${API}/v1`, NO_PROXY: "hetzner.test" });
    expect(await lost.ended).toBe(1);
    expect(lost.output).toMatch(/cannot be used: .*(ENOTFOUND|EAI_AGAIN)/);
    await running({ ...env });
    expect(proxy.tunnels).toEqual([]);
  });

  it("trusts no other certificate authority", async () => {
    const stranger = start({});
    expect(await stranger.ended).toBe(1);
    expect(stranger.output).toMatch(/the Hetzner API at https:\S+ cannot be used: .*certificate/);
  });

  it.each(["NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR"])("trusts the authorities of %s", async (variable) => {
    const folder = join(world.cluster.dir, "authorities");
    await mkdir(folder, { recursive: true });
    await rename(authorityFile, join(folder, "company.pem"));
    authorityFile = join(folder, "company.pem");
    await running({ [variable]: variable === "SSL_CERT_DIR" ? folder : authorityFile });
  });

  async function running(env: Readonly<Record<string, string>>): Promise<void> {
    const started = start(env);
    await eventually(() => expect(started.records("controller running"), started.tail(5)).toHaveLength(1));
  }
});
