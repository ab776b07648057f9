/** The official Go SDK as a client of the simulated cloud. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";

const source = fileURLToPath(new URL("go-sdk", import.meta.url));
const run = promisify(execFile);
const hasGo = spawnSync("go", ["version"]).status === 0;
if (!hasGo) process.stderr.write("SKIPPED: the official Go SDK, because Go is not on PATH\n");

/** The same program, with the oldest SDK in use and with the newest one that this Go can build. */
const VERSIONS = [
  { sdk: "hcloud-go v2.47.0", modfile: "go.mod" },
  { sdk: "hcloud-go v2.52.0", modfile: "next.mod" },
] as const;

interface Result {
  readonly name: string;
  readonly error?: string;
}

describe.skipIf(!hasGo).each(VERSIONS)("the official Go SDK, $sdk", ({ modfile }) => {
  let directory: string;
  let cloud: Cloud;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "lotse-go-sdk-"));
    cloud = await startCloud({ rateLimit: { perHour: 1_000_000 }, actionMs: 10, token: "g".repeat(64) });
    await run("go", ["build", `-modfile=${modfile}`, "-o", join(directory, "conformance"), "."], { cwd: source });
  });

  afterAll(async () => {
    await cloud.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test("creates, reads, changes, awaits and deletes every resource, and recognises every class of error", async () => {
    const env = { HCLOUD_ENDPOINT: cloud.url, HCLOUD_TOKEN: cloud.token };
    const { stdout } = await run(join(directory, "conformance"), { env, timeout: 60_000 });
    const results: readonly Result[] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(results.filter((result) => result.error)).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(19);
  });

  test("leaves nothing behind", () => {
    const { actions: _, rrsets, ...kinds } = cloud.state;
    expect(rrsets()).toEqual([]);
    const left = Object.entries(kinds).filter(([, view]) => view.size > 0);
    expect(left.map(([kind]) => kind)).toEqual([]);
  });
});
