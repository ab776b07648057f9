/** Errors of the toolchain, with messages that say what to do. */
import type { Tool } from "./tools.ts";

/** Stable codes for the reasons why tools are unavailable. */
export type ToolchainErrorCode =
  | "no-way"
  | "go-too-old"
  | "modules-unreachable"
  | "disk-full"
  | "compile-failed"
  | "cache-unusable";

/** A failure that the user has to fix; the message says how. */
export class ToolchainError extends Error {
  override readonly name = "ToolchainError";
  readonly code: ToolchainErrorCode;

  constructor(code: ToolchainErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const fileErrors: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "ENOTDIR"]);

/** One error for all tools that could be neither downloaded nor built. */
export function explainMissing(tools: readonly Tool[], reasons: readonly string[]): ToolchainError {
  const goVersions = tools.map((tool) => tool.goVersion);
  const newest = goVersions.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  const lines = [
    "these tools could be neither downloaded nor built:",
    ...tools.map((tool) => `  ${tool.name} ${tool.version}`),
    "reasons:",
    ...reasons.map((reason) => `  ${reason}`),
    `connect to the internet, or install Go ${newest} or newer (https://go.dev/dl/), then rerun the command`,
  ];
  return new ToolchainError("no-way", lines.join("\n"));
}

/** Turns an error about an unwritable cache into a ToolchainError. Returns any other error unchanged. */
export function explainFileError(error: unknown, root: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || !fileErrors.has(error.code)) return error;
  return new ToolchainError(
    "cache-unusable",
    `cannot write the cache ${root}: ${error.message}. Free disk space, fix the permissions, or set XDG_CACHE_HOME ` +
      "to another folder",
    { cause: error },
  );
}
