import { join } from "node:path";
import { type Cache, freshTmpDir, moveToStore } from "./cache.ts";
import { ToolchainError } from "./errors.ts";
import type { Host } from "./host.ts";
import type { Tool } from "./tools.ts";

/**
 * Settings of every build. Pure Go gives static binaries that do not depend on the C library of this machine; the
 * rest is fixed so that settings of the caller cannot change what is built.
 */
const goEnv = { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off", GOOS: "", GOARCH: "" };

const tooOld = /requires go >= (\S+) \(running go (\S+?);/;
const diskFull = /no space left on device|disk quota exceeded/;
const unreachable =
  /dial tcp|proxyconnect|no such host|i\/o timeout|TLS handshake|connection (?:refused|reset)|GOPROXY list|(?:403|404|410|5\d\d) [A-Z]\w+|server misbehaving/;

/** Builds a tool from its pinned Go module into the store. Returns why Go does not start, if it does not. */
export async function buildTool(tool: Tool, goDir: string, cache: Cache, host: Host): Promise<string | undefined> {
  const dir = await freshTmpDir(cache);
  const [command = "", ...flags] = tool.buildArgs;
  const args = ["-C", join(goDir, tool.module), command, "-o", join(dir, tool.name), ...flags];
  const result = await host.run("go", args, goEnv);
  if (result.kind === "not-started") return `the go command does not start: ${result.output}`;
  if (result.kind === "failed") throw explainBuildFailure(tool, result.output);
  await moveToStore(cache, tool.storeName, dir);
  return undefined;
}

/** Turns the output of a failed `go build` into one clear error. */
export function explainBuildFailure(tool: Tool, output: string): ToolchainError {
  const what = `${tool.name} ${tool.version} cannot be built`;
  const [, needed, running] = tooOld.exec(output) ?? [];
  if (needed !== undefined) {
    return new ToolchainError(
      "go-too-old",
      `${what}: it needs Go ${needed}, this is Go ${running}; install a newer one from https://go.dev/dl/, ` +
        "or allow Go to fetch it with GOTOOLCHAIN=auto",
    );
  }
  if (diskFull.test(output)) {
    return new ToolchainError(
      "disk-full",
      `${what}: the disk is full; all tools together need 9 GB for Go's caches (GOCACHE, GOMODCACHE) and 0.5 GB ` +
        `for the binaries (XDG_CACHE_HOME)\n${lastLines(output, 2)}`,
    );
  }
  if (unreachable.test(output)) {
    return new ToolchainError(
      "modules-unreachable",
      `${what}: its Go modules cannot be downloaded; check the network and GOPROXY, then run the same command ` +
        `again (what is there already is kept)\n${lastLines(output, 5)}`,
    );
  }
  return new ToolchainError("compile-failed", `${what}: go build failed\n${lastLines(output, 15)}`);
}

/** The last lines of Go's output that say something; its download chatter does not. */
function lastLines(output: string, count: number): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("go: downloading "));
  return lines.slice(-count).join("\n");
}
