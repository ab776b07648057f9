/** Composable checks of request bodies. */
import { type FieldProblem, invalidInput } from "./errors.ts";

/** Parses unknown input, or throws `Invalid` with the path of the invalid field. */
export type Check<T> = (value: unknown, path: string) => T;

/** The type that a check returns. */
export type Checked<C> = C extends Check<infer T> ? T : never;

type Shape = Readonly<Record<string, Check<unknown>>>;
type ShapeValue<S extends Shape> = { readonly [K in keyof S]: Checked<S[K]> };

class Invalid extends Error {
  readonly problems: readonly FieldProblem[];

  constructor(problems: readonly FieldProblem[]) {
    super("invalid");
    this.problems = problems;
  }
}

/** Rejects a field. For use in checks. */
export function reject(path: string, message: string): never {
  throw new Invalid([{ name: path, messages: [message] }]);
}

/** Checks a request body. Throws one `invalid_input` for all invalid fields. */
export function parseBody<T>(check: Check<T>, body: unknown): T {
  try {
    return check(body, "");
  } catch (error) {
    throw error instanceof Invalid ? invalidInput(error.problems) : error;
  }
}

/** Bounds of a number, or of the length of a text. */
export interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

function checkBounds(size: number, { min = -Infinity, max = Infinity }: Bounds, path: string): void {
  if (size >= min && size <= max) return;
  const wanted =
    max === Infinity ? `at least ${min}` : min === -Infinity ? `at most ${max}` : `between ${min} and ${max}`;
  reject(path, `Must be ${wanted}.`);
}

/** Text within the length bounds that matches the pattern. */
export function string(options: Bounds & { readonly pattern?: RegExp } = {}): Check<string> {
  return (value, path) => {
    if (typeof value !== "string") return reject(path, "Must be a string.");
    checkBounds(value.length, options, path);
    if (options.pattern && !options.pattern.test(value)) return reject(path, "Has an invalid format.");
    return value;
  };
}

/** An integer within the bounds. */
export function integer(bounds: Bounds = {}): Check<number> {
  return (value, path) => {
    if (!Number.isSafeInteger(value)) return reject(path, "Must be an integer.");
    checkBounds(Number(value), bounds, path);
    return Number(value);
  };
}

/** A boolean; the API does not accept text. */
export const boolean: Check<boolean> = (value, path) =>
  typeof value === "boolean" ? value : reject(path, "Must be a boolean.");

/** One of the given strings. */
export function oneOf<const T extends string>(...values: readonly T[]): Check<T> {
  return (value, path) =>
    values.find((one) => one === value) ?? reject(path, `Must be one of ${values.map((v) => `'${v}'`).join(", ")}.`);
}

/** An array of at most `max` elements. Every invalid element is reported. */
export function array<T>(check: Check<T>, max = 1000): Check<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return reject(path, "Must be an array.");
    if (value.length > max) return reject(path, `Must have at most ${max} elements.`);
    return gather(value.map((element, index) => [`${path}.${index}`, element, check] as const));
  };
}

/** An optional field; null means absent. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, path) => (value === undefined || value === null ? undefined : check(value, path));
}

/** A field that may be null; absent means null. */
export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, path) => (value === undefined || value === null ? null : check(value, path));
}

/** An optional field that may be null; absent and null differ. */
export function optionalOrNull<T>(check: Check<T>): Check<T | null | undefined> {
  return (value, path) => (value === undefined || value === null ? value : check(value, path));
}

/** An object with these fields. Unknown fields are rejected. */
export function object<S extends Shape>(shape: S): Check<ShapeValue<S>> {
  const names = Object.keys(shape);
  return (value, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return reject(path || "body", "Must be an object.");
    }
    const given = new Map<string, unknown>(Object.entries(value));
    const prefix = path ? `${path}.` : "";
    const unknown = [...given.keys()].filter((name) => !Object.hasOwn(shape, name));
    const fields = [
      ...names.map((name) => [`${prefix}${name}`, given.get(name), shape[name] ?? never] as const),
      ...unknown.map((name) => [`${prefix}${name}`, given.get(name), never] as const),
    ];
    const values = gather(fields);
    // There is one check per name, so the collected values have the type of the shape.
    return Object.fromEntries(names.map((name, index) => [name, values[index]])) as ShapeValue<S>;
  };
}

const never: Check<never> = (_value, path) => reject(path, "Unknown field.");

function gather<T>(fields: readonly (readonly [path: string, value: unknown, check: Check<T>])[]): T[] {
  const problems: FieldProblem[] = [];
  const values: T[] = [];
  for (const [path, value, check] of fields) {
    try {
      values.push(check(value, path));
    } catch (error) {
      if (!(error instanceof Invalid)) throw error;
      const missing = [{ name: path, messages: ["Missing data for required field."] }];
      problems.push(...(value === undefined ? missing : error.problems));
    }
  }
  if (problems.length > 0) throw new Invalid(problems);
  return values;
}
