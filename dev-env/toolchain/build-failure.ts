import { ToolchainError } from "./errors.ts";
import type { RunResult } from "./host.ts";
import { lastLines } from "./output.ts";
import type { Tool } from "./tools.ts";

const tooOld = /requires go >= (\S+) \(running go (\S+?);/;
const diskFull = /no space left on device|disk quota exceeded/;
const unreachable =
  /dial tcp|proxyconnect|no such host|i\/o timeout|TLS handshake|connection (?:refused|reset)|GOPROXY list|(?:403|404|410|5\d\d) [A-Z]\w+|server misbehaving/;

/** Turns the output of a failed `go build` into one clear error. */
export function explainBuildFailure(tool: Tool, result: RunResult): ToolchainError {
  const what = `${tool.name} ${tool.version} cannot be built`;
  if (result.kind === "not-started")
    return new ToolchainError("no-way", `${what}: go does not start (${result.reason})`);
  const { output } = result;

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
  const end = result.kind === "timed-out" ? "not finished within an hour" : "go build failed";
  return new ToolchainError("compile-failed", `${what}: ${end}\n${lastLines(output, 15)}`);
}
