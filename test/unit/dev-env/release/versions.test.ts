/** One version, wherever it is stated. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openCloud } from "../../../../controller/app/assemble-cloud.ts";
import { Telemetry } from "../../../../controller/app/telemetry.ts";
import { commandLine } from "../../../../controller/commands/command-line.ts";
import { versions } from "../../../../controller/commands/version.ts";
import { loadConfig } from "../../../../controller/config/config.ts";
import { KubeClient } from "../../../../controller/kube/client.ts";
import { RobotClient } from "../../../../controller/robot/client.ts";
import { startCloud } from "../../../../dev-env/cloud/cloud.ts";
import { pairsIn, parseDockerfile, textsOf } from "../../../../dev-env/image/dockerfile.ts";
import { sectionsOf } from "../../../../dev-env/release/changelog.ts";
import { statedVersions } from "../../../../dev-env/release/places.ts";
import packageJson from "../../../../package.json" with { type: "json" };
import { reply, startServer } from "../../../support/http-server.ts";
import { aLog } from "../../../support/log.ts";

const read = (path: string) => readFileSync(path, "utf8");
const CONFIG = { HCLOUD_TOKEN: "t".repeat(64) };

describe("the files of the repository", () => {
  const stated = statedVersions(".");

  it.each(Object.entries(stated))("%s states the version of package.json", (_, found) => {
    expect(found.length).toBeGreaterThan(0);
    expect(new Set(found)).toEqual(new Set([packageJson.version]));
  });

  it("state it in every place that was counted", () => {
    const counts = Object.fromEntries(Object.entries(stated).map(([file, found]) => [file, found.length]));
    expect(counts).toMatchObject({ "package.json": 1, "package-lock.json": 2, "README.md": 4 });
    expect(counts["controller/deploy/chart/Chart.yaml"]).toBe(3);
  });

  it("include a changelog whose newest section is this version, unless it is the first", () => {
    const [newest = { name: packageJson.version }] = sectionsOf(read("CHANGELOG.md")).slice(1);
    expect(newest.name).toBe(packageJson.version);
  });

  it("belong to the tag of this commit, if it has one", () => {
    const tags = execFileSync("git", ["tag", "--points-at", "HEAD", "v[0-9]*"], { encoding: "utf8" });
    for (const tag of tags.split("\n").filter(Boolean)) expect(tag).toBe(`v${packageJson.version}`);
  });
});

describe("an image of v9.8.7-5-g1a2b3c4", () => {
  const VERSION = "9.8.7-5-g1a2b3c4";
  const final = parseDockerfile(read("controller/deploy/Dockerfile")).at(-1);
  if (!final) throw new Error("no stages");
  const env = pairsIn(final, "ENV", { LOTSE_VERSION: `v${VERSION}` });
  beforeEach(() => {
    vi.stubEnv("LOTSE_VERSION", env.LOTSE_VERSION);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it("has it in the environment of the program, and in no label another one", () => {
    expect(env.LOTSE_VERSION).toBe(`v${VERSION}`);
    const labels = textsOf(final, "LABEL").join(" ");
    for (const [, value] of labels.matchAll(/image\.version="?([^"\s]+)/g))
      expect(value).toMatch(/^\$\{?LOTSE_VERSION/);
  });

  it("prints it", () => {
    expect(versions(env).lotse).toBe(VERSION);
    expect(commandLine([]).version()).toBe(VERSION);
  });

  it("exposes it as lotse_build_info", async () => {
    const { metrics } = new Telemetry(loadConfig({}, CONFIG));
    const text = await metrics.registry.getSingleMetricAsString("lotse_build_info");
    expect(text).toContain(`lotse_build_info{version="${VERSION}"} 1`);
  });

  it("names it in requests to the cloud", async () => {
    await using ends = new AsyncDisposableStack();
    const cloud = await startCloud();
    ends.defer(() => cloud.stop());
    const config = loadConfig({}, { HCLOUD_TOKEN: cloud.token, HCLOUD_ENDPOINT: cloud.url });
    await openCloud(config, aLog().log, ends);
    expect(cloud.journal.entries.map(({ caller }) => caller)).toEqual([`lotse/${VERSION}`]);
  });

  it("names it in requests to the API server and to Robot", async () => {
    await using ends = new AsyncDisposableStack();
    const server = await startServer((_, response) => reply(response, []));
    ends.defer(() => server.stop());
    const kube = new KubeClient({ server: new URL(server.url), credentials: async () => ({ headers: {} }) }, {});
    ends.defer(() => kube.close());
    await kube.get("/version");
    const settings = { endpoint: server.url, cacheMs: 1_000, rateLimitWaitMs: 1_000 };
    await new RobotClient({ ...settings, credentials: { user: "u", password: "p" } }).inventory();
    const callers = server.received.map(({ headers }) => headers["user-agent"]);
    expect(new Set(callers)).toEqual(new Set([`lotse/${VERSION}`]));
    expect(callers.length).toBeGreaterThanOrEqual(2);
  });
});
