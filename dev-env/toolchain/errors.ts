/** Why the toolchain could not be provided. */
export type ToolchainErrorCode =
  | "no-way"
  | "go-too-old"
  | "modules-unreachable"
  | "disk-full"
  | "compile-failed"
  | "wrong-binary"
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
