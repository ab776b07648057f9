import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type Agent, request as requestSecurely } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates, Server as TlsServer } from "node:tls";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SecureConfig } from "../../../../controller/config/config.ts";
import { KubeError } from "../../../../controller/diagnostics/errors.ts";
import { Access } from "../../../../controller/serve/access.ts";
import { loadKeyPair, selfSigned } from "../../../../controller/serve/certificate.ts";
import { serveMetrics, serveSecurely } from "../../../../controller/serve/server.ts";
import { Authority } from "../../../../dev-env/cluster/certificates.ts";
import { aLog } from "../../../support/log.ts";

const CONFIG: SecureConfig = {
  host: "127.0.0.1",
  port: 0,
  minVersion: "TLSv1.2",
  openPaths: ["/healthz", "/readyz", "/livez"],
  tokenTtlMs: 10_000,
  allowedTtlMs: 10_000,
  deniedTtlMs: 10_000,
};

let ends: AsyncDisposableStack;
let dir: string;
beforeEach(() => {
  ends = new AsyncDisposableStack();
  dir = mkdtempSync(join(tmpdir(), "lotse-serve-"));
  ends.defer(() => rmSync(dir, { recursive: true }));
});
afterEach(() => ends.disposeAsync());

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

const served = () => ({
  registry: new Registry(),
  checks: { livez: [{ name: "ping", look: () => undefined }], readyz: [{ name: "cloud", look: () => "away" }] },
  configz: '{"shown":true}',
  log: aLog().log,
});

const SEEN = ["/metrics", "/metrics/slis", "/configz"];

/** An API server that knows one token and lets its owner see metrics. */
function reviewer() {
  const asked: unknown[] = [];
  const create = async <T>(path: string, body: unknown): Promise<T> => {
    const { spec } = body as { spec: { token?: string; user?: string; nonResourceAttributes?: { path: string } } };
    asked.push(path.includes("tokenreviews") ? "token" : `${spec.user} ${spec.nonResourceAttributes?.path}`);
    if (path.includes("tokenreviews")) {
      const isKnown = spec.token === "good";
      return { status: { authenticated: isKnown, user: { username: "prometheus", groups: ["scrapers"] } } } as T;
    }
    return {
      status: { allowed: spec.user === "prometheus" && SEEN.includes(spec.nonResourceAttributes?.path ?? "") },
    } as T;
  };
  return { asked, create };
}

async function start(
  given: Partial<SecureConfig> = {},
  api: { create: ReturnType<typeof reviewer>["create"] } = reviewer(),
) {
  const config = { ...CONFIG, port: await freePort(), ...given };
  const access = new Access({ authentication: api, authorization: api, config, log: aLog().log });
  ends.use(await serveSecurely(config, access, served()));
  return (path: string, options: { token?: string; method?: string; cert?: string; key?: string } = {}) =>
    get(config.port, path, options);
}

async function get(
  port: number,
  path: string,
  { token, method = "GET", ...tls }: { token?: string; method?: string; cert?: string; key?: string },
) {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const asking = requestSecurely({
    host: "127.0.0.1",
    port,
    path,
    method,
    headers,
    rejectUnauthorized: false,
    agent: false as unknown as Agent,
    ...tls,
  }).end();
  const [response] = await once(asking, "response");
  return { status: response.statusCode as number, body: await text(response) };
}

describe("the HTTPS port", () => {
  it.each([
    ["/livez", undefined, 200],
    ["/readyz?verbose", undefined, 500],
    ["/metrics", undefined, 403],
    ["/metrics", "bad", 401],
    ["/metrics", "good", 200],
    ["/metrics/slis", undefined, 403],
    ["/configz", undefined, 403],
    ["/livez/ping", undefined, 403],
    ["/other", "good", 404],
    ["/other", undefined, 404],
    ["/livez/other", undefined, 404],
    ["//", undefined, 404],
  ])("framework 5.5: %s with token %s responds with %d", async (path, token, status) => {
    const ask = await start();
    expect((await ask(path, token === undefined ? {} : { token })).status).toBe(status);
  });

  it("framework 5.5: serves the configuration, and the results of health checks", async () => {
    const ask = await start();
    expect(await ask("/configz", { token: "good" })).toEqual({ status: 200, body: '{"shown":true}' });
    for (const path of ["/livez", "/livez", "/readyz"]) await ask(path);
    const { body } = await ask("/metrics/slis", { token: "good" });
    expect(body.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
      'kubernetes_healthcheck{name="ping",type="livez"} 1',
      'kubernetes_healthcheck{name="cloud",type="readyz"} 0',
      'kubernetes_healthchecks_total{name="ping",type="livez",status="success"} 2',
      'kubernetes_healthchecks_total{name="cloud",type="readyz",status="error"} 1',
    ]);
  });

  it("caches reviews for a while, and never keeps the token itself", async () => {
    const api = reviewer();
    const ask = await start({}, api);
    for (let index = 0; index < 3; index += 1) await ask("/metrics", { token: "good" });
    expect(api.asked).toEqual(["token", "prometheus /metrics"]);
  });

  it("denies every request when reviews fail, and still answers probes", async () => {
    const ask = await start({}, { create: () => Promise.reject(new KubeError("POST", 403, "forbidden")) });
    expect((await ask("/metrics", { token: "good" })).status).toBe(401);
    expect((await ask("/metrics")).status).toBe(403);
    expect((await ask("/livez")).status).toBe(200);
  });

  it("asks again after a review has failed", async () => {
    const { create } = reviewer();
    let isDown = true;
    const api = {
      create: <T>(...args: [string, unknown]) => (isDown ? Promise.reject(new Error("x")) : create<T>(...args)),
    };
    const ask = await start({}, api);
    expect((await ask("/metrics", { token: "good" })).status).toBe(401);
    isDown = false;
    expect((await ask("/metrics", { token: "good" })).status).toBe(200);
  });

  it("framework 5.5: opens everything before a *", async () => {
    const ask = await start({ openPaths: ["/livez*"] });
    expect((await ask("/livez/ping")).status).toBe(200);
    expect((await ask("/readyz")).status).toBe(403);
  });

  it.each(["0.0.0.0", "::"])("listens on both families for %s, as in Go", async (host) => {
    const port = await freePort();
    await start({ host, port });
    const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
    for (const address of own.filter((it) => it === "127.0.0.1" || it === "::1")) {
      const socket = connect(port, address);
      await once(socket, "connect");
      socket.destroy();
    }
  });

  it("authenticates client certificates of --client-ca-file; administrators may read everything", async () => {
    const authority = new Authority("test");
    const file = join(dir, "ca.crt");
    writeFileSync(file, authority.certificate);
    const ask = await start({ clientCaFile: file });
    const as = (commonName: string, ...organizations: string[]) => {
      const { certificate: cert, key } = authority.issue({ commonName, organizations }, { kind: "client" });
      return { cert, key };
    };
    expect((await ask("/livez/ping", as("admin", "system:masters"))).status).toBe(200);
    expect((await ask("/metrics", as("prometheus"))).status).toBe(200);
    expect((await ask("/livez/ping", as("prometheus"))).status).toBe(403);
    const stranger = new Authority("other").issue(
      { commonName: "x", organizations: ["system:masters"] },
      { kind: "client" },
    );
    expect((await ask("/metrics", { cert: stranger.certificate, key: stranger.key })).status).toBe(403);
  });

  it("gives users of client certificates the group of everyone who is authenticated, once, as in Kubernetes", async () => {
    const authority = new Authority("test");
    const clientCaFile = join(dir, "ca.crt");
    writeFileSync(clientCaFile, authority.certificate);
    const asked: unknown[] = [];
    const create = async <T>(_: string, body: unknown): Promise<T> => {
      const { groups } = (body as { spec: { groups: readonly string[] } }).spec;
      asked.push(groups);
      return { status: { allowed: groups.includes("system:authenticated") } } as T;
    };
    const ask = await start({ clientCaFile }, { create });
    for (const organizations of [[], ["monitoring"], ["system:authenticated", "monitoring"]]) {
      const { certificate: cert, key } = authority.issue({ commonName: "x", organizations }, { kind: "client" });
      expect((await ask("/metrics", { cert, key })).status).toBe(200);
    }
    expect(asked).toEqual([
      ["system:authenticated"],
      ["monitoring", "system:authenticated"],
      ["system:authenticated", "monitoring"],
    ]);
  });

  it("trusts the client authorities of --client-ca-file across reloads, also when they are rotated", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    ends.defer(() => void vi.useRealTimers());
    const [first, second, publicCa] = ["first", "second", "public"].map((name) => new Authority(name)) as [
      Authority,
      Authority,
      Authority,
    ];
    const defaults = getCACertificates("default");
    setDefaultCACertificates([...defaults, publicCa.certificate]);
    ends.defer(() => setDefaultCACertificates(defaults));
    const [clientCaFile, certFile, keyFile] = ["ca.crt", "tls.crt", "tls.key"].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    const rotate = () => {
      const { cert, key } = selfSigned("localhost");
      writeFileSync(certFile, cert);
      writeFileSync(keyFile, key);
    };
    rotate();
    writeFileSync(clientCaFile, first.certificate);
    const ask = await start({ clientCaFile, certFile, keyFile });
    const statuses = () =>
      Promise.all(
        [first, second, publicCa].map(async (authority) => {
          const subject = { commonName: "admin", organizations: ["system:masters"] };
          const { certificate: cert, key } = authority.issue(subject, { kind: "client" });
          return (await ask("/configz", { cert, key })).status;
        }),
      );
    expect(await statuses()).toEqual([200, 403, 403]);
    for (const [change, expected] of [
      [() => {}, [200, 403, 403]],
      [rotate, [200, 403, 403]],
      [() => writeFileSync(clientCaFile, second.certificate), [403, 200, 403]],
      [() => writeFileSync(clientCaFile, ""), [403, 200, 403]],
      [() => writeFileSync(keyFile, "half-writ"), [403, 200, 403]],
    ] as const) {
      change();
      vi.advanceTimersByTime(60_000);
      expect(await statuses()).toEqual(expected);
    }
  });

  it("reloads certificates only when a file has changed", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    ends.defer(() => void vi.useRealTimers());
    const set = vi.spyOn(TlsServer.prototype, "setSecureContext");
    ends.defer(() => set.mockRestore());
    await start({ certDir: dir });
    set.mockClear();
    vi.advanceTimersByTime(180_000);
    expect(set).not.toHaveBeenCalled();
  });

  it("asks for no review of an unknown path, and for few at a time", async () => {
    const answers: (() => void)[] = [];
    let most = 0;
    const create = async <T>(): Promise<T> => {
      most = Math.max(most, answers.length + 1);
      await new Promise<void>((resolve) => answers.push(resolve));
      return { status: { authenticated: false } } as T;
    };
    const api = { create };
    const access = new Access({ authentication: api, authorization: api, config: CONFIG, log: aLog().log });
    const asked = Array.from({ length: 5_000 }, (_, index) =>
      access.decide({ headers: { authorization: `Bearer t${index}` }, socket: {} } as never, "/metrics"),
    );
    await new Promise(setImmediate);
    expect([most, answers.length]).toEqual([10, 10]);
    for (let reviewed = 0; reviewed < 110; reviewed += 1) {
      answers.shift()?.();
      await new Promise(setImmediate);
    }
    const verdicts = await Promise.all(asked);
    const count = (verdict: number) => verdicts.filter((one) => one === verdict).length;
    expect([count(401), count(429)]).toEqual([110, 4_890]);
    const again = access.decide({ headers: { authorization: "Bearer t4999" }, socket: {} } as never, "/metrics");
    await new Promise(setImmediate);
    answers.shift()?.();
    expect(await again).toBe(401); // the refusal of a crowd is not cached
    const strangers = reviewer();
    const ask = await start({}, strangers);
    await Promise.all(Array.from({ length: 20 }, (_, index) => ask(`/unknown/${index}`)));
    expect(strangers.asked).toEqual([]);
  });

  it("refuses anything but reads", async () => {
    const ask = await start();
    expect((await ask("/livez", { method: "POST" })).status).toBe(405);
    expect(await ask("/livez", { method: "HEAD" })).toEqual({ status: 200, body: "" });
  });

  it("closes at once although a client never begins to encrypt", async () => {
    const config = { ...CONFIG, port: await freePort() };
    const access = new Access({ authentication: reviewer(), authorization: reviewer(), config, log: aLog().log });
    const serving = await serveSecurely(config, access, served());
    const silent = connect(config.port, "127.0.0.1").on("error", () => {});
    ends.defer(() => void silent.destroy());
    await once(silent, "connect");
    await get(config.port, "/livez", {}); // by now the server has accepted the first connection, too
    const started = performance.now();
    await serving[Symbol.asyncDispose]();
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it("fails with a configuration error when the port is in use", async () => {
    const port = await freePort();
    await start({ port });
    await expect(start({ port })).rejects.toThrow(`--secure-port ${port}`);
  });
});

describe("the plain port", () => {
  it("HCCM O1: serves metrics and nothing else", async () => {
    const port = await freePort();
    ends.use(await serveMetrics({ host: "127.0.0.1", port }, served()));
    for (const [path, status] of [
      ["/metrics", 200],
      ["/livez", 404],
      ["/", 404],
    ] as const) {
      const [response] = await once(request({ host: "127.0.0.1", port, path }).end(), "response");
      response.resume();
      expect(response.statusCode).toBe(status);
    }
  });

  it("disables only metrics when the port is in use", async () => {
    const port = await freePort();
    ends.use(await serveMetrics({ host: "127.0.0.1", port }, served()));
    expect(await serveMetrics({ host: "127.0.0.1", port }, served())).toBeUndefined();
  });
});

describe("the certificate", () => {
  it("is self-signed for localhost when none is given", () => {
    const certificate = new X509Certificate(selfSigned("localhost").cert);
    expect(certificate.subjectAltName).toBe("DNS:localhost, IP Address:127.0.0.1");
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(new Date(certificate.validTo).getTime()).toBeGreaterThan(Date.now() + 9 * 365 * 86_400_000);
  });

  it("framework 5.2: is created in --cert-dir once, with a key that only its owner can read", () => {
    const first = loadKeyPair({ ...CONFIG, certDir: dir });
    expect(loadKeyPair({ ...CONFIG, certDir: dir })).toEqual(first);
    expect(readdirSync(dir)).toEqual(["cloud-controller-manager.crt", "cloud-controller-manager.key"]);
    expect(statSync(join(dir, "cloud-controller-manager.key")).mode & 0o077).toBe(0);
  });

  it("that is unreadable is a configuration error", () => {
    expect(() => loadKeyPair({ ...CONFIG, certFile: "/nowhere", keyFile: "/nowhere" })).toThrow("--secure-port");
  });
});
