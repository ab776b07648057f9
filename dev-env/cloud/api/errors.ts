/** Errors of the API, in Hetzner's format. */

/** One wrong field of a request, with its dotted path. */
export interface FieldProblem {
  readonly name: string;
  readonly messages: readonly string[];
}

type Details = Readonly<Record<string, unknown>> | null;

/** An error response in Hetzner's format. Thrown by handlers, which rolls back their transaction. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Details;

  constructor(status: number, code: string, message: string, details: Details = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** `details` is always present: the Terraform provider panics on an `invalid_input` without it. */
  toJSON(): object {
    return { error: { code: this.code, message: this.message, details: this.details } };
  }
}

/** Status of each code; codes that are not listed have status 422. */
export const STATUS_OF: Readonly<Record<string, number>> = {
  json_error: 400,
  unauthorized: 401,
  forbidden: 403,
  maintenance: 403,
  resource_limit_exceeded: 403,
  not_found: 404,
  method_not_allowed: 405,
  uniqueness_error: 409,
  conflict: 409,
  deprecated_api_endpoint: 410,
  resource_unavailable: 412,
  locked: 423,
  protected: 423,
  rate_limit_exceeded: 429,
  server_error: 500,
  bad_gateway: 502,
  unavailable: 503,
  timeout: 504,
};

/** An error whose status follows from its code (422 unless the table above says otherwise). */
export function refuse(code: string, message: string, details: Details = null): ApiError {
  return new ApiError(STATUS_OF[code] ?? 422, code, message, details);
}

/** 404. Clients recognise it by its code and print the message. */
export function notFound(what: string, id: number | string): ApiError {
  return refuse("not_found", `${what} with ID '${id}' not found`);
}

/** A row that must exist. Throws 404 if it does not. */
export function found<T>(row: T | undefined, what: string, id: number | string): T {
  if (row === undefined) throw notFound(what, id);
  return row;
}

/** 409 for a duplicate name, or a duplicate value of another unique field. */
export function nameTaken(message = "name is already used", field = "name"): ApiError {
  return refuse("uniqueness_error", message, { fields: [{ name: field }] });
}

/** 403 for an exceeded limit of the project, the network or the type. */
export function limitExceeded(limit: string, message = `${limit} limit exceeded`): ApiError {
  return refuse("resource_limit_exceeded", message, { limits: [{ name: limit }] });
}

/** 423 for deleting a resource with delete protection. */
export function isProtected(what: string): ApiError {
  return refuse("protected", `${what} deletion is protected`);
}

/** `invalid_input` for one field. `message` replaces the generic text if Hetzner's own is known. */
export function invalidField(name: string, problem: string, message?: string): ApiError {
  return invalidInput([{ name, messages: [problem] }], message);
}

/** `invalid_input` for several fields, which the message names by their first path segment. */
export function invalidInput(fields: readonly FieldProblem[], message?: string): ApiError {
  const names = [...new Set(fields.map((field) => `'${field.name.split(".")[0]}'`))];
  const sentence = `invalid input in field${names.length === 1 ? "" : "s"} ${names.join(", ")}`;
  return refuse("invalid_input", message ?? sentence, { fields });
}
