/** Errors of the development environment, and what a user reads about any error. */
import { CcmError, ConfigError } from "../../controller/diagnostics/errors.ts";
import { describeResource } from "../../stacks/engine/progress.ts";
import { StackError } from "../../stacks/engine/stack-run.ts";
import { ToolchainError } from "../toolchain/toolchain.ts";

/** An expected error. The message is for the user, and says what to do. */
export class DevEnvError extends Error {
  override readonly name: string = "DevEnvError";
}

/** What a user can do about errors of the API, by code. */
const HINTS: Readonly<Record<string, string>> = {
  uniqueness_error: "the project has a resource with this name or key already: choose another --name",
  resource_limit_exceeded: "raise the limit in the Cloud Console, or ask for less; the same command then continues",
  resource_unavailable: "choose another --location or server type; the same command then continues",
  placement_error: "choose another --location or server type; the same command then continues",
  forbidden: "HCLOUD_TOKEN may be read-only: create one with read and write rights",
  token_readonly: "HCLOUD_TOKEN is read-only: create one with read and write rights",
  unauthorized: "check HCLOUD_TOKEN",
  stack_locked: 'another command works on the stack; if not, run "pulumi cancel"',
};

/** What a user can do about an error code of the API; undefined if that is not known. */
export function hintFor(code: string): string | undefined {
  return HINTS[code];
}

/** An error in lines for the user. Unexpected errors come with their stack. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.mistakes;
  if (error instanceof StackError) return error.failures.map(explainFailure);
  const isExpected = [CcmError, ToolchainError, DevEnvError].some((kind) => error instanceof kind);
  if (error instanceof Error && isExpected) return [error.message];
  return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
}

function explainFailure({ urn, failure }: StackError["failures"][number]): string {
  const code = /currently locked/.test(failure.message) ? "stack_locked" : failure.code;
  const hint = hintFor(code);
  return `${urn ? `${describeResource(urn)}: ` : ""}${failure.message}${hint ? `; ${hint}` : ""}`;
}
