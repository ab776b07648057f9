import { join } from "node:path";
import { explainBuildFailure } from "./build-failure.ts";
import { type Cache, type Found, freshTmpDir, moveToStore } from "./cache.ts";
import { ToolchainError } from "./errors.ts";
import { probeTool } from "./find.ts";
import type { Host } from "./host.ts";
import type { Tool } from "./tools.ts";

const buildTimeoutMs = 60 * 60_000;

/**
 * Settings of every build. Pure Go gives static binaries that do not depend on the C library of this machine; the
 * rest is fixed so that settings of the caller cannot change what is built.
 */
const goEnv = { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off", GOOS: "", GOARCH: "" };

/** Why Go cannot build anything here, or undefined when it can be tried. */
export async function whyNoGo(host: Host): Promise<string | undefined> {
  const result = await host.run("go", ["version"], { timeoutMs: 10_000 });
  return result.kind === "not-started" ? `the go command does not start (${result.reason})` : undefined;
}

/** Builds a tool from its pinned Go module into the store. */
export async function buildTool(tool: Tool, goDir: string, cache: Cache, host: Host): Promise<Found> {
  const dir = await freshTmpDir(cache, tool.name);
  const path = join(dir, tool.name);
  const [command = "", ...flags] = tool.buildArgs;
  const args = ["-C", join(goDir, tool.module), command, "-o", path, ...flags];
  const result = await host.run("go", args, { timeoutMs: buildTimeoutMs, env: goEnv });
  if (result.kind !== "exited" || result.code !== 0) throw explainBuildFailure(tool, result);

  const search = await probeTool(tool, { path, source: "build" }, host);
  if (!search.found) {
    throw new ToolchainError("wrong-binary", `${tool.name} ${tool.version} was built but is unusable: ${search.notes}`);
  }
  return { ...search.found, path: await moveToStore(cache, tool, dir) };
}
