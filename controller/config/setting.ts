/** One setting: a row of the tables in settings.ts, from which parser, help, reference and `/configz` are derived. */
import type { Parser } from "../formats/values.ts";
import { text } from "./flag-values.ts";
import type { Flag } from "./flags.ts";

/** A setting with a value of type T. */
export interface Setting<T> extends Omit<Flag, "name" | "section"> {
  /** Name of the flag, without dashes. */
  readonly flag?: string;
  /** Name of the environment variable. A flag takes precedence. */
  readonly variable?: string;
  readonly parse: Parser<T>;
  /** The default, in the syntax of the setting. */
  readonly fallback?: string;
  /** The default in words, for help and reference, where that says more; an empty string hides it. */
  readonly unset?: string;
  /** Another variable that must be set; otherwise this one is ignored. */
  readonly needs?: string;
}

/** Settings by their field name in Config. */
export type Table = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<Row> = Row extends Setting<infer T> ? T : never;
type Optional<T extends Table> = { [K in keyof T]: undefined extends ValueOf<T[K]> ? K : never }[keyof T];

/** The values of a table. A setting without a default is absent when it is not set. */
export type Values<T extends Table> = { readonly [K in Exclude<keyof T, Optional<T>>]: ValueOf<T[K]> } & {
  readonly [K in Optional<T>]?: Exclude<ValueOf<T[K]>, undefined>;
};

interface Undocumented<T> {
  doc(doc: string, more?: Pick<Setting<T>, "variable" | "unset" | "ignored" | "repeats" | "needs">): Setting<T>;
}

/** Starts a row: its name (`--flag <value>` or `VARIABLE`), its syntax (any text if omitted) and its default. */
export function setting(name: string): Undocumented<string | undefined>;
export function setting<T>(name: string, parse: Parser<T>): Undocumented<T | undefined>;
export function setting<T>(name: string, parse: Parser<T>, fallback: string): Undocumented<T>;
export function setting(name: string, parse: Parser<unknown> = text, fallback?: string): Undocumented<unknown> {
  const [first = "", value = ""] = name.split(" ");
  const names = first.startsWith("--") ? { flag: first.slice(2), value } : { variable: first };
  return { doc: (doc, more) => ({ ...names, parse, ...(fallback !== undefined && { fallback }), doc, ...more }) };
}
