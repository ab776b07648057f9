/** Errors with a stable code and a verdict on trying again. */
export abstract class CcmError extends Error {
  /** Stable, for metrics and tests, e.g. `cloud`. */
  abstract readonly code: string;
  /** `never` means until the object or the configuration changes. */
  abstract readonly retry: "soon" | "backoff" | "never";
}

/** The configuration is wrong. Carries every mistake found, each a line for the user. */
export class ConfigError extends CcmError {
  readonly code = "config";
  readonly retry = "never";
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join("\n"));
    this.mistakes = mistakes;
  }
}

/** The Hetzner API said no, or could not be asked. */
export class CloudError extends CcmError {
  readonly code = "cloud";
  readonly retry: "soon" | "backoff" | "never";
  readonly status: number;
  /** The API's own code, e.g. `not_found`; `unreachable` when there was no answer. */
  readonly apiCode: string;

  /** The reason is a text, or the error that was the cause. */
  constructor(request: string, status: number, apiCode: string, reason: unknown) {
    super(`${request}: ${messageOf(reason)} (${apiCode})`, reason instanceof Error ? { cause: reason } : undefined);
    this.status = status;
    this.apiCode = apiCode;
    this.retry = status === 401 || status === 403 ? "backoff" : "soon";
  }
}

/** The Kubernetes API said no, or could not be asked. */
export class KubeError extends CcmError {
  readonly code = "kube";
  readonly retry = "soon";
  /** HTTP status, 0 when there was no answer. */
  readonly status: number;

  constructor(request: string, status: number, message: string, cause?: unknown) {
    super(`${request}: ${message}`, { cause });
    this.status = status;
  }
}

/** Whether the API server said that there is no such object. */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404;
}

/** Whether the API server refused because the object is not as the caller has seen it. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409;
}

/** What the API server answers about an object; nothing when it says that there is none. */
export async function ifFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Another replica leads, or may do so by now: nothing is written. */
export class NotLeader extends CcmError {
  readonly code = "not-leader";
  readonly retry = "soon";

  constructor() {
    super("this replica is no longer the leader: nothing is written");
  }
}

/** Leadership was lost: this process ends, and starts anew as one that stands by. */
export class LeadershipLost extends CcmError {
  readonly code = "leadership-lost";
  readonly retry = "never";
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
