/** `npm run test:account` against the simulator: the whole list, and every way in which it can be interrupted. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Cloud, type CloudOptions, startCloud } from "../../dev-env/cloud/cloud.ts";
import type { Report } from "../account/report.ts";
import { STEPS } from "../account/steps/list.ts";
import { eventually } from "../support/eventually.ts";
import { descendantsOf } from "../support/process-tree.ts";
import { type SuiteProcess, startSuite } from "../support/suite.ts";

const TOKEN = "token-of-the-project-".padEnd(64, "0");
/** A list with one of each: server, route, uploaded and created certificate, load balancers of both owners. */
const SHORT = ["--only", "nodes,routes,https,https-secret,adoption-by-name"];
const RUN = ["--yes", "--resync", "2s", "--timeout", "60"];

let cloud: Cloud;
let folder: string;
const begin = async (options: CloudOptions = {}) => {
  cloud = await startCloud({ token: TOKEN, rateLimit: "off", actionMs: 20, ...options });
};
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lotse-account-"));
});
afterEach(async () => {
  await cloud.stop();
  await rm(folder, { recursive: true, force: true });
});

const start = (...args: readonly string[]): SuiteProcess =>
  startSuite("account", [...args, "--report", folder], { HCLOUD_TOKEN: TOKEN, HCLOUD_ENDPOINT: cloud.url });
/** Everything in the project. */
const contents = () =>
  (["servers", "networks", "loadBalancers", "certificates", "primaryIps"] as const).flatMap((kind) =>
    cloud.state[kind].values().map(({ name }) => `${kind}: ${name}`),
  );
const kept = async (ending: string) => {
  const file = (await readdir(folder)).find((name) => name.endsWith(ending));
  return readFile(join(folder, file ?? `no file *${ending}`), "utf8");
};
const reportOf = async () => JSON.parse(await kept("Z.json").catch(() => kept(".json"))) as Report;

it("works through the whole list, writes a report and a recording, and leaves the project empty", async () => {
  // As in a real project, a zone is there before and afterwards.
  await begin({ rateLimit: { perHour: 3600 } });
  const suite = start(...RUN, "--domain", "www.example.com", "--record");
  expect(await suite.ended, suite.output()).toBe(0);
  expect(contents()).toEqual([]);
  const recording = await kept(".recording.json");
  await rm(join(folder, (await readdir(folder)).find((name) => name.endsWith(".recording.json")) ?? ""));
  const { results, differences, left, calls } = await reportOf();
  expect(results.map(({ id, outcome }) => [id, outcome])).toEqual(
    STEPS.filter(({ needs }) => needs !== "traffic").map(({ id }) => [id, "passed"]),
  );
  expect({ differences, left }).toEqual({ differences: [], left: "" });
  expect(calls["POST /load_balancers"]).toBe(7); // as many as the price says
  expect(await kept(".md")).toContain("Afterwards, the project was empty.");
  for (const secret of [TOKEN, "BEGIN", "www.example.com"]) expect(recording).not.toContain(secret);
  for (const text of [suite.output(), await kept(".md")]) expect(text).not.toContain(TOKEN);
}, 600_000);

describe("interrupted at its", { timeout: 300_000 }, () => {
  /** Starts the suite, and resolves at its nth write. */
  async function startUntil(write: number): Promise<SuiteProcess> {
    const suite = start(...RUN, ...SHORT);
    const hasWritten = () => expect(cloud.journal.writes.length, suite.output()).toBeGreaterThanOrEqual(write);
    await eventually(hasWritten, { timeoutMs: 120_000, intervalMs: 1 });
    expect(contents()).not.toEqual([]);
    return suite;
  }
  /** Kills the suite, and resolves when the processes that it had started have ended. */
  async function kill(suite: SuiteProcess): Promise<void> {
    const tree = descendantsOf(suite.child.pid ?? 0);
    suite.child.kill("SIGKILL");
    await suite.ended;
    const alive = () =>
      tree.filter(({ pid, command }) => descendantsOf(0).some((it) => it.pid === pid && it.command === command));
    await eventually(() => expect(alive()).toEqual([]));
  }
  const POINTS = [1, 4, 7, 9, 11];

  it.each(POINTS)("write %i by Ctrl-C, it removes everything itself", async (write) => {
    await begin();
    const suite = await startUntil(write);
    suite.child.kill("SIGINT");
    expect(await suite.ended, suite.output()).toBe(130);
    expect(suite.output()).toContain("the project is empty");
    expect(contents()).toEqual([]);
  });

  it.each(POINTS)("write %i by a kill, its processes end, and --clean removes the rest", async (write) => {
    await begin();
    await kill(await startUntil(write));
    const cleaning = start("--clean");
    expect(await cleaning.ended, cleaning.output()).toBe(0);
    expect(contents()).toEqual([]);
  });

  it("ninth write by a kill, the next run cleans up first and then passes", async () => {
    await begin();
    await kill(await startUntil(9));
    const next = start(...RUN, "--only", "nodes");
    expect(await next.ended, next.output()).toBe(0);
    expect(next.output()).toContain("of an earlier run: load balancer");
    expect(contents()).toEqual([]);
  });
});

it("says how to clean up later where the API is gone at the end", async () => {
  await begin();
  const suite = start("--yes", "--timeout", "2", ...SHORT);
  await eventually(() => expect(cloud.state.servers.values(), suite.output()).toHaveLength(2), { timeoutMs: 120_000 });
  await cloud.stop();
  expect(await suite.ended, suite.output()).toBe(1);
  expect(suite.output()).toMatch(/the project still has an unknown rest .*Run `npm run test:account -- --clean`/);
  expect((await reportOf()).left).toContain("unreachable");
}, 300_000);

describe("where the API refuses", { timeout: 300_000 }, () => {
  it("a second server, it says what to do, and removes the first", async () => {
    await begin();
    const effect = { kind: "error", code: "resource_limit_exceeded" } as const;
    cloud.faults.add({ method: "POST", path: "/servers", skip: 1, effect });
    const suite = start(...RUN, ...SHORT);
    expect(await suite.ended).toBe(1);
    expect(suite.output()).toMatch(/resource_limit_exceeded.*raise the limit in the Cloud Console/);
    expect(contents()).toEqual([]);
    expect((await reportOf()).failure).toContain("resource_limit_exceeded");
  });

  it("a load balancer, the step fails with the reason, and the others go on", async () => {
    await begin();
    const effect = { kind: "error", code: "resource_limit_exceeded" } as const;
    cloud.faults.add({ method: "POST", path: "/load_balancers", effect });
    const suite = start(
      "--yes",
      "--resync",
      "2s",
      "--timeout",
      "40",
      "--only",
      "nodes,https,https-secret,node-shutdown",
    );
    expect(await suite.ended).toBe(1);
    const { results } = await reportOf();
    expect(results.map(({ outcome }) => outcome)).toEqual(["passed", "failed", "skipped", "passed"]);
    expect(results[1]?.message).toMatch(/Event SyncLoadBalancerFailed: .*resource_limit_exceeded/);
    expect(contents()).toEqual([]);
  });

  it("all writes, because the token is read-only, it says so", async () => {
    await begin({ readOnlyToken: "read-only-token-".padEnd(64, "0") });
    const suite = startSuite("account", [...RUN, ...SHORT, "--report", folder], {
      HCLOUD_TOKEN: "read-only-token-".padEnd(64, "0"),
      HCLOUD_ENDPOINT: cloud.url,
    });
    expect(await suite.ended).toBe(1);
    expect(suite.output()).toContain("HCLOUD_TOKEN may be read-only");
  });

  it("requests for a while with 429, it waits and passes", async () => {
    await begin();
    cloud.faults.add({ path: "/**", skip: 30, times: 5, effect: { kind: "error", code: "rate_limit_exceeded" } });
    const suite = start(...RUN, "--only", "nodes,routes");
    expect(await suite.ended, suite.output()).toBe(0);
    expect(cloud.journal.count({ code: "rate_limit_exceeded" })).toBe(5);
    expect(contents()).toEqual([]);
  });
});
