import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Cache, type Found, freshTmpDir, moveToStore } from "./cache.ts";
import { probeTool, type Search } from "./find.ts";
import type { Host, RunResult } from "./host.ts";
import { lastLines } from "./output.ts";
import type { Tool } from "./tools.ts";

const downloadTimeoutMs = 120_000;
const installerUrl = "https://get.pulumi.com/install.sh";
const installScript = fileURLToPath(new URL("install-pulumi.ts", import.meta.url));

/** Why Pulumi's download server cannot be used, or undefined when it can. */
export async function whyNoDownload(host: Host): Promise<string | undefined> {
  const reason = await host.whyUnreachable(installerUrl);
  return reason && `no download: ${installerUrl} cannot be fetched (${reason})`;
}

/** True for what Pulumi's own installers offer. */
export function isDownloadable(tool: Tool): boolean {
  return tool.name === "pulumi" || tool.name === "pulumi-resource-hcloud";
}

/** Gets a tool with Pulumi's own installer. The plugin needs the CLI, which is tried first for that reason. */
export async function downloadTool(tool: Tool, cache: Cache, host: Host, pulumi?: Found): Promise<Search> {
  const dir = await freshTmpDir(cache, tool.name);
  if (tool.name === "pulumi") {
    const result = await host.run(process.execPath, [installScript, dir], { timeoutMs: downloadTimeoutMs });
    return accept(tool, join(dir, "bin"), result, cache, host);
  }
  if (!pulumi) return { notes: ["no download: the pulumi command, which installs plugins, is not there yet"] };
  const args = ["plugin", "install", "resource", "hcloud", tool.version, "--non-interactive"];
  const env = { PULUMI_HOME: dir, PULUMI_SKIP_UPDATE_CHECK: "true" };
  const result = await host.run(pulumi.path, args, { timeoutMs: downloadTimeoutMs, env });
  return accept(tool, join(dir, "plugins", `resource-hcloud-v${tool.version}`), result, cache, host);
}

/** Takes what an installer left in `dir` only if it is the right binary: installers may fail half-way. */
async function accept(tool: Tool, dir: string, result: RunResult, cache: Cache, host: Host): Promise<Search> {
  const search = await probeTool(tool, { path: join(dir, tool.name), source: "download" }, host);
  if (!search.found) return { notes: [`download failed: ${describeRun(result)}`] };
  return { found: { ...search.found, path: await moveToStore(cache, tool, dir) } };
}

function describeRun(result: RunResult): string {
  switch (result.kind) {
    case "not-started":
      return result.reason;
    case "timed-out":
      return `not finished after ${downloadTimeoutMs / 1000} s`;
    case "exited":
      return lastLines(result.output, 3);
  }
}
