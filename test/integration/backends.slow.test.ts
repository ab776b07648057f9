/** The example program reads the outputs from a folder, and from backends that are servers. */
import { describe, it } from "vitest";
import { postgresFolder, startPostgres, startS3 } from "../support/backends.ts";
import { expectDnsFrom } from "../support/dns-example.ts";
import { startWorld } from "../support/world.ts";

/** MinIO may have to be built first. */
const BUILD_MS = 30 * 60_000;
const programs = postgresFolder();
if (!programs) process.stderr.write("SKIPPED: PostgreSQL, because Debian's package postgresql is not installed\n");

describe("the outputs give a Service its DNS name through StackReference", () => {
  it("in a folder", { timeout: 300_000 }, async () => {
    await using world = await startWorld({ nodes: 1 });
    await expectDnsFrom(world);
  });

  it("on S3", { timeout: BUILD_MS }, async () => {
    await using backend = await startS3();
    await using world = await startWorld({ nodes: 1 });
    await expectDnsFrom(world, backend);
  });

  it.runIf(programs)("on PostgreSQL", { timeout: 300_000 }, async () => {
    await using backend = await startPostgres(programs ?? "");
    await using world = await startWorld({ nodes: 1 });
    await expectDnsFrom(world, backend);
  });
});
