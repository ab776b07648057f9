import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { type Cache, type Found, type Source, storeDir } from "./cache.ts";
import type { Host } from "./host.ts";
import { lastLines } from "./output.ts";
import type { Tool, ToolName } from "./tools.ts";

const probeTimeoutMs = 10_000;
const assetTools: ReadonlySet<ToolName> = new Set(["etcd", "kube-apiserver", "kubectl"]);

/** A place where a binary may be. */
interface Candidate {
  readonly path: string;
  readonly source: Source;
  /** Somebody pointed at this very binary: take it as it is. */
  readonly anyVersion?: boolean;
}

/** Outcome of looking at one place or at all of them. */
export type Search = { readonly found: Found } | { readonly found?: undefined; readonly notes: readonly string[] };

/**
 * Looks for a tool that is already on this machine. `pulumi` is the CLI in use, if known: its language host lies
 * beside it. When nothing fits, the notes say what was seen instead.
 */
export async function findTool(tool: Tool, cache: Cache, host: Host, pulumi?: Found): Promise<Search> {
  const notes: string[] = [];
  for (const candidate of candidates(tool, cache, host, pulumi)) {
    if (!(await isExecutable(candidate.path))) continue;
    const search = await probeTool(tool, candidate, host);
    if (search.found) return search;
    notes.push(...search.notes);
  }
  return { notes };
}

/** The tool as it was built or downloaded before; nothing when it was not, or does not answer. */
export async function findStored(tool: Tool, cache: Cache, host: Host): Promise<Found | undefined> {
  const path = join(storeDir(cache, tool), tool.name);
  return (await isExecutable(path)) ? (await probeTool(tool, { path, source: "cache" }, host)).found : undefined;
}

/** Asks a binary for its version; it is found when it answers with the pinned one. */
export async function probeTool(tool: Tool, { path, source, anyVersion }: Candidate, host: Host): Promise<Search> {
  const result = await host.run(path, tool.probe.args, {
    timeoutMs: probeTimeoutMs,
    env: { PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
  if (result.kind === "not-started") return { notes: [`${path} does not start: ${result.reason}`] };
  const match = tool.probe.pattern.exec(result.output);
  if (result.kind === "timed-out" || match === null) {
    return { notes: [`${path} does not tell its version: ${lastLines(result.output, 1) || "no output"}`] };
  }
  const version = match[1] ?? tool.version;
  if (version !== tool.version && !anyVersion) return { notes: [`${path} is version ${version}`] };
  return { found: { path, version, source } };
}

function candidates(tool: Tool, cache: Cache, host: Host, pulumi: Found | undefined): readonly Candidate[] {
  const { env } = host;
  const onPath = (env.PATH ?? "")
    .split(delimiter)
    // Our own links are no source: a link would end up pointing at itself.
    .filter((dir) => dir !== "" && !dir.startsWith(cache.root))
    .map((dir): Candidate => ({ path: join(dir, tool.name), source: "path" }));
  const stored: Candidate = { path: join(storeDir(cache, tool), tool.name), source: "cache" };
  const assets = env.KUBEBUILDER_ASSETS;

  switch (tool.name) {
    case "pulumi-language-nodejs":
      // It cannot tell its version, but the one that came with the CLI is right.
      return pulumi ? [{ path: join(dirname(pulumi.path), tool.name), source: pulumi.source }, stored] : [stored];
    case "pulumi-resource-hcloud": {
      const home = env.PULUMI_HOME || join(env.HOME || homedir(), ".pulumi");
      const installed = join(home, "plugins", `resource-hcloud-v${tool.version}`, tool.name);
      return [stored, ...onPath, { path: installed, source: "path" }];
    }
    default:
      if (!assets || !assetTools.has(tool.name)) return [stored, ...onPath];
      return [{ path: join(assets, tool.name), source: "assets", anyVersion: true }, stored, ...onPath];
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
