/** One setting: a row of the tables in settings.ts, which parser, help, reference and `/configz` are made from. */
import type { Parser } from "../formats/values.ts";
import { text } from "./flag-values.ts";
import type { Flag } from "./flags.ts";

export interface Setting<T> extends Omit<Flag, "name" | "section"> {
  /** Name of the flag, without dashes. */
  readonly flag?: string;
  /** Name of the environment variable. A flag beside it wins. */
  readonly variable?: string;
  readonly parse: Parser<T>;
  /** The default, as a user would write it. */
  readonly fallback?: string;
  /** The default in words, where they say more; empty means that nothing is said. */
  readonly unset?: string;
  /** A variable without which this one is not looked at. */
  readonly needs?: string;
}

/** Settings by their names in the code. */
export type Table = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<Row> = Row extends Setting<infer T> ? T : never;
type Optional<T extends Table> = { [K in keyof T]: undefined extends ValueOf<T[K]> ? K : never }[keyof T];

/** What a table is read into. A setting without default is absent when it is not set. */
export type Values<T extends Table> = { readonly [K in Exclude<keyof T, Optional<T>>]: ValueOf<T[K]> } & {
  readonly [K in Optional<T>]?: Exclude<ValueOf<T[K]>, undefined>;
};

interface Undocumented<T> {
  doc(doc: string, more?: Pick<Setting<T>, "variable" | "unset" | "ignored" | "repeats" | "needs">): Setting<T>;
}

/** A row by its name, `--flag <value>` or `VARIABLE`, its syntax, which may be any text, and its default. */
export function setting(name: string): Undocumented<string | undefined>;
export function setting<T>(name: string, parse: Parser<T>): Undocumented<T | undefined>;
export function setting<T>(name: string, parse: Parser<T>, fallback: string): Undocumented<T>;
export function setting(name: string, parse: Parser<unknown> = text, fallback?: string): Undocumented<unknown> {
  const [first = "", value = ""] = name.split(" ");
  const names = first.startsWith("--") ? { flag: first.slice(2), value } : { variable: first };
  return { doc: (doc, more) => ({ ...names, parse, ...(fallback !== undefined && { fallback }), doc, ...more }) };
}
