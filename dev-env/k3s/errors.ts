/** Errors of the development environment, and what a user reads about any error. */
import { CcmError, CloudError, ConfigError } from "../../controller/diagnostics/errors.ts";
import { describeResource } from "../../stacks/engine/progress.ts";
import { StackError } from "../../stacks/engine/stack-run.ts";
import { DeadlineError } from "../cluster/repeat.ts";
import { explainCloudError, hintFor, withHint } from "../project/api.ts";
import { ToolchainError } from "../toolchain/toolchain.ts";

/** An expected error. The message is for the user, and says what to do. */
export class DevEnvError extends Error {
  override readonly name: string = "DevEnvError";
}

/** An error in lines for the user. Unexpected errors come with their stack. `endpoint` is that of the API. */
export function explain(error: unknown, endpoint: string): readonly string[] {
  // A step failed, and then what was to happen at the end.
  if (error instanceof SuppressedError)
    return [error.suppressed, error.error].flatMap((each) => explain(each, endpoint));
  if (error instanceof ConfigError) return error.mistakes;
  if (error instanceof CloudError) return [explainCloudError(error, endpoint)];
  if (error instanceof StackError) return error.failures.map(explainFailure);
  const isExpected = [CcmError, DeadlineError, DevEnvError, ToolchainError].some((kind) => error instanceof kind);
  if (error instanceof Error && isExpected) return [error.message];
  return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
}

function explainFailure({ urn, failure }: StackError["failures"][number]): string {
  return `${urn ? `${describeResource(urn)}: ` : ""}${withHint(failure.message, hintFor(failure.code))}`;
}
