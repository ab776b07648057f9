/** Builds a tool with Go, and explains why a build failed. */
import { join } from "node:path";
import { type Cache, freshTmpDir, moveToStore } from "./cache.ts";
import { ToolchainError } from "./errors.ts";
import type { Host } from "./host.ts";
import type { Tool } from "./tools.ts";

/**
 * Environment of every build. Without cgo, binaries are static and independent of this machine's C library. The other
 * variables override the caller's, which could change what is built.
 */
const goEnv = { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off" };

const tooOld = /requires go >= (\S+) \(running go (\S+?);/;
const diskFull = /no space left on device|disk quota exceeded/;
const unreachable =
  /dial tcp|proxyconnect|no such host|i\/o timeout|TLS handshake|connection (?:refused|reset)|GOPROXY list|(?:403|404|410|5\d\d) [A-Z]\w+|server misbehaving/;

/** Builds a tool from its pinned Go module into the store. Returns the reason if `go` could not be started. */
export async function buildTool(tool: Tool, goDir: string, cache: Cache, host: Host): Promise<string | undefined> {
  const dir = await freshTmpDir(cache);
  const [command = "", ...flags] = tool.buildArgs;
  const args = ["-C", join(goDir, tool.module), command, "-o", join(dir, tool.name), ...flags];
  const [GOOS = "", GOARCH = ""] = host.platform.replace("x64", "amd64").split("-");
  const result = await host.run("go", args, { ...goEnv, GOOS, GOARCH });
  if (result.kind === "not-started") return `cannot run the go command: ${result.output}`;
  if (result.kind === "failed") throw explainBuildFailure(tool, result.output);
  await moveToStore(cache, tool.storeName, dir);
  return undefined;
}

/** Turns the output of a failed `go build` into an error that says what to do. */
export function explainBuildFailure(tool: Tool, output: string): ToolchainError {
  const what = `could not build ${tool.name} ${tool.version}`;
  const [, needed, running] = tooOld.exec(output) ?? [];
  if (needed !== undefined) {
    return new ToolchainError(
      "go-too-old",
      `${what}: it requires Go ${needed}, but this is Go ${running}. Install a newer Go from https://go.dev/dl/, ` +
        "or set GOTOOLCHAIN=auto to let Go download it",
    );
  }
  if (diskFull.test(output)) {
    return new ToolchainError(
      "disk-full",
      `${what}: the disk is full. Building all tools takes 9 GB for Go's caches (GOCACHE, GOMODCACHE) and 0.5 GB ` +
        `for the binaries (XDG_CACHE_HOME)\n${lastLines(output, 2)}`,
    );
  }
  if (unreachable.test(output)) {
    return new ToolchainError(
      "modules-unreachable",
      `${what}: could not download its Go modules. Check the network and GOPROXY, then rerun the command; ` +
        `finished downloads are kept\n${lastLines(output, 5)}`,
    );
  }
  return new ToolchainError("compile-failed", `${what}: go build failed\n${lastLines(output, 15)}`);
}

/** The last lines of Go's output, without download progress. */
function lastLines(output: string, count: number): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("go: downloading "));
  return lines.slice(-count).join("\n");
}
