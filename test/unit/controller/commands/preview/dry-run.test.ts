import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { commandConfig } from "../../../../../controller/commands/open.ts";
import { previewForever, report } from "../../../../../controller/commands/preview/dry-run.ts";
import type { Forecast } from "../../../../../controller/commands/preview/forecast.ts";
import { reply, startServer } from "../../../../support/http-server.ts";
import { aLog } from "../../../../support/log.ts";

const QUIET: Forecast = { cluster: "test", server: "", units: [], refused: [], notes: [] };

it("logs each unit that would change or fail, and each refused object", () => {
  const { log, lines } = aLog();
  const part = { part: "route", operation: "create", reason: "", fields: [] } as const;
  const unit = { unit: "route/a", object: "Node a", action: "create", parts: [part] } as const;
  report(
    {
      ...QUIET,
      units: [unit, { ...unit, failure: "no" }],
      refused: [{ object: "Service a/b", mistakes: ["bad"] }],
      heldBack: "many",
    },
    log,
  );
  expect(lines).toMatchObject([
    { level: "info", msg: "would change", object: "Node a", resources: ["create route"] },
    { level: "warn", msg: "would fail", error: "no" },
    { level: "warn", msg: "would be refused", mistakes: ["bad"] },
    { level: "warn", msg: "would be held back by the guard" },
  ]);
});

it("logs that there is nothing to change", () => {
  const { log, lines } = aLog();
  report(QUIET, log);
  expect(lines).toMatchObject([{ msg: "nothing to change" }]);
});

describe("while it runs, a dry run", () => {
  async function freePort(): Promise<number> {
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, "close");
    return port;
  }

  interface World {
    /** Whether every API refuses. */
    isDown?: boolean;
    /** Resolves when the APIs respond. */
    response?: Promise<void>;
  }

  /** A dry run against an empty cluster and an empty project. */
  async function aDryRun(world: World = {}) {
    const ends = new AsyncDisposableStack();
    const dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
    ends.defer(() => rm(dir, { recursive: true }));
    const empty = { items: [], servers: [], load_balancers: [], certificates: [], locations: [], pricing: {} };
    const server = await startServer(async (_, response) => {
      await world.response;
      reply(response, empty, world.isDown ? 403 : 200);
    });
    ends.defer(() => server.stop());
    const kubeconfig = join(dir, "kubeconfig");
    const contexts = [{ name: "here", context: { cluster: "here" } }];
    const clusters = [{ name: "here", cluster: { server: server.url } }];
    await writeFile(kubeconfig, stringify({ "current-context": "here", contexts, clusters }));
    const [secure, plain] = [await freePort(), await freePort()];
    const flags = { kubeconfig, "secure-port": String(secure), "bind-address": "127.0.0.1", resync: "1s" };
    const config = commandConfig(flags, {
      HCLOUD_TOKEN: "t".repeat(64),
      HCLOUD_ENDPOINT: server.url,
      HCLOUD_METRICS_ADDRESS: `127.0.0.1:${plain}`,
      HCLOUD_DEBUG: "true",
    });
    const { log, lines } = aLog();
    const stop = new AbortController();
    const running = previewForever(config, log, stop.signal);
    ends.defer(() => running);
    ends.defer(() => stop.abort());
    const statusOf = async (path: string) => {
      const asked = request({ host: "127.0.0.1", port: secure, path, rejectUnauthorized: false, agent: false }).end();
      const [response] = await once(asked, "response");
      response.resume();
      return response.statusCode as number;
    };
    const metrics = async () => (await fetch(`http://127.0.0.1:${plain}/metrics`)).text();
    return { lines, statusOf, metrics, [Symbol.asyncDispose]: () => ends.disposeAsync() };
  }

  const POLL = { timeout: 10_000, interval: 50 };

  it("serves health checks and metrics, so that its pod is not restarted", { timeout: 30_000 }, async () => {
    const world: World = {};
    await using run = await aDryRun(world);
    await expect.poll(() => run.statusOf("/readyz").catch(() => 0), POLL).toBe(200);
    expect(run.lines.map(({ msg }) => msg)).toContain("nothing to change");
    expect([await run.statusOf("/healthz"), await run.statusOf("/livez")]).toEqual([200, 200]);
    expect(await run.metrics()).toMatch(/^hcloud_api_requests_total\{.*code="200".*\} [1-9]/m);
    world.isDown = true;
    await expect.poll(() => run.statusOf("/readyz"), POLL).toBe(500);
    expect([await run.statusOf("/healthz"), await run.statusOf("/livez")]).toEqual([200, 200]);
  });

  it("shows how long the current preview has been running, so that a stuck one is restarted", async () => {
    const released = Promise.withResolvers<void>();
    await using run = await aDryRun({ response: released.promise });
    const shown = () => run.metrics().catch(() => "");
    await expect.poll(shown, POLL).toMatch(/^workqueue_unfinished_work_seconds\{name="preview"\} [0-9.]*[1-9]/m);
    released.resolve();
    await expect.poll(shown, POLL).toMatch(/^workqueue_unfinished_work_seconds\{name="preview"\} 0$/m);
  });

  it("logs everything in the configured log", { timeout: 30_000 }, async () => {
    await using run = await aDryRun();
    await expect.poll(() => run.lines.map(({ msg }) => msg), POLL).toContain("nothing to change");
    expect(run.lines.map(({ msg }) => msg)).toContain("api exchange");
  });
});
