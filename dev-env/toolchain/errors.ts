import type { Tool } from "./tools.ts";

/** Why the toolchain could not be provided. */
export type ToolchainErrorCode =
  | "no-way"
  | "go-too-old"
  | "modules-unreachable"
  | "disk-full"
  | "compile-failed"
  | "cache-unusable";

/** A failure that a person has to fix; its message says how. */
export class ToolchainError extends Error {
  override readonly name = "ToolchainError";
  readonly code: ToolchainErrorCode;

  constructor(code: ToolchainErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const fileErrors: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "ENOTDIR"]);

/** One error for all tools that can neither be downloaded nor built. */
export function explainMissing(tools: readonly Tool[], obstacles: readonly string[]): ToolchainError {
  const goVersions = tools.map((tool) => tool.goVersion);
  const newest = goVersions.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  const lines = [
    "these tools are missing, and can neither be downloaded nor built:",
    ...tools.map((tool) => `  ${tool.name} ${tool.version}`),
    "because:",
    ...obstacles.map((obstacle) => `  ${obstacle}`),
    `to fix it, connect to the internet, or install Go ${newest} or newer (https://go.dev/dl/); then run the same command again`,
  ];
  return new ToolchainError("no-way", lines.join("\n"));
}

/** A cache that cannot be written is for a person to fix; any other error is returned as it is. */
export function explainFileError(error: unknown, root: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || !fileErrors.has(error.code)) return error;
  return new ToolchainError(
    "cache-unusable",
    `the cache ${root} cannot be written: ${error.message}; free space or permit it, or name another folder ` +
      "with XDG_CACHE_HOME",
    { cause: error },
  );
}
