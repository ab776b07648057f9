/** Errors with a stable code and a verdict on retrying. */

/** Base of all errors that the controller expects. */
export abstract class CcmError extends Error {
  /** Stable, for metrics and tests, e.g. `cloud`. */
  abstract readonly code: string;
  /** `never`: not before the object or the configuration changes. */
  abstract readonly retry: "soon" | "backoff" | "never";
}

/** Invalid configuration or command line. Carries all mistakes, each a line for the user. */
export class ConfigError extends CcmError {
  readonly code = "config";
  readonly retry = "never";
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join("\n"));
    this.mistakes = mistakes;
  }
}

/** The Hetzner API refused a request or did not respond. */
export class CloudError extends CcmError {
  readonly code = "cloud";
  readonly retry: "soon" | "backoff" | "never";
  readonly status: number;
  /** The API's own code, e.g. `not_found`; `unreachable` when there was no response. */
  readonly apiCode: string;

  /** `reason` is a message or the error that was the cause. */
  constructor(request: string, status: number, apiCode: string, reason: unknown) {
    super(`${request}: ${messageOf(reason)} (${apiCode})`, reason instanceof Error ? { cause: reason } : undefined);
    this.status = status;
    this.apiCode = apiCode;
    this.retry = status === 401 || status === 403 ? "backoff" : "soon";
  }
}

/** The Kubernetes API refused a request or did not respond. */
export class KubeError extends CcmError {
  readonly code = "kube";
  readonly retry = "soon";
  /** HTTP status; 0 when there was no response. */
  readonly status: number;

  constructor(request: string, status: number, message: string, cause?: unknown) {
    super(`${request}: ${message}`, { cause });
    this.status = status;
  }
}

/** Whether the object does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404;
}

/** Whether the write was refused because the object has changed or already exists. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409;
}

/** The response, or undefined when the object does not exist. */
export async function ifFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The response, or undefined when we have no permission to read the object. */
export async function ifAllowed<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KubeError && error.status === 403) return undefined;
    throw error;
  }
}

/** Another replica is the leader, or may be by now. */
export class NotLeader extends CcmError {
  readonly code = "not-leader";
  readonly retry = "soon";

  constructor() {
    super("this replica is no longer the leader: nothing is written");
  }
}

/** Leadership was lost: the process exits and restarts as a standby. */
export class LeadershipLost extends CcmError {
  readonly code = "leadership-lost";
  readonly retry = "never";
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
