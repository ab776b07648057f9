import type { Cache } from "./cache.ts";
import { ToolchainError } from "./errors.ts";
import type { Tool } from "./tools.ts";

const fileErrors: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "ENOTDIR"]);

/** One text for all tools that can neither be found, downloaded nor built: what, where it was looked for, what helps. */
export function explainMissing(
  tools: readonly Tool[],
  notes: ReadonlyMap<Tool, readonly string[]>,
  { looked, obstacle }: { readonly looked: string; readonly obstacle: string },
): string {
  const goVersions = tools.map((tool) => tool.goVersion);
  const newest = goVersions.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  return [
    `these tools are missing (looked ${looked}):`,
    ...tools.flatMap((tool) => [
      `  ${tool.name} ${tool.version}`,
      ...(notes.get(tool) ?? []).map((note) => `    ${note}`),
    ]),
    `and they cannot be built: ${obstacle}`,
    `to fix it, install Go ${newest} or newer (https://go.dev/dl/) and run the same command again, or put the tools`,
    "named above on PATH in exactly these versions; for etcd, kube-apiserver and kubectl, KUBEBUILDER_ASSETS may",
    "name a folder that holds them",
  ].join("\n");
}

/** A cache that cannot be written is for a person to fix; any other error is returned as it is. */
export function explainFileError(error: unknown, cache: Cache): unknown {
  if (!(error instanceof Error) || !("code" in error) || !fileErrors.has(error.code)) return error;
  return new ToolchainError(
    "cache-unusable",
    `the cache ${cache.root} cannot be written: ${error.message}; free space or permit it, or name another folder ` +
      "with XDG_CACHE_HOME",
    { cause: error },
  );
}
