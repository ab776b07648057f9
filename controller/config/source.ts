/** Reads settings from flags and environment, and collects mistakes and warnings. */
import { readFileSync } from "node:fs";
import { withoutCredentials } from "../../stacks/state/credentials.ts";
import { messageOf } from "../diagnostics/errors.ts";
import { boolean } from "../formats/values.ts";
import { type Secret, secret } from "./flag-values.ts";
import type { FlagValues } from "./flags.ts";
import type { Setting, Table, Values } from "./setting.ts";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where settings come from, and what was found wrong with them. */
export interface Source {
  readonly flags: FlagValues;
  readonly env: Environment;
  /** Every mistake so far, one line each, for the user. */
  readonly mistakes: string[];
  /** Settings that have no effect, each with the reason. */
  readonly warnings: string[];
}

/** Reads all settings of a table. */
export function read<T extends Table>(table: T, source: Source): Values<T> {
  const values = Object.entries(table).map(([key, row]) => [key, readRow(row, source)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Values<T>;
}

/** A flag takes precedence over a variable, and both over the default. All are parsed, to find every mistake. */
function readRow(row: Setting<unknown>, source: Source): unknown {
  const { flag = "", variable = "", parse, fallback, ignored } = row;
  const { flags, env, mistakes, warnings } = source;
  if (parse === secret) return readSecret(variable, source);
  const given = { [`--${flag}`]: flags[flag]?.toString(), [variable]: variableText(row, env), default: fallback };
  const [first] = Object.entries(given).flatMap(([name, text]) => {
    if (text === undefined) return [];
    const parsed = parse(text);
    if ("value" in parsed) return [{ name, value: parsed.value }];
    mistakes.push(`${name}: ${JSON.stringify(withoutCredentials(text))} is not ${parsed.allowed}`);
    return [];
  });
  if (ignored && first) warnings.push(`${first.name} has no effect: ${ignored}`);
  return first?.value;
}

/** An empty variable counts as not set, except for a boolean, where it is a mistake. */
function variableText({ variable, parse, needs }: Setting<unknown>, env: Environment): string | undefined {
  if (!variable || (needs && !env[needs])) return undefined;
  return parse === boolean ? env[variable] : env[variable] || undefined;
}

/** Reads a variable, or the file that `<variable>_FILE` names. The variable takes precedence, even when it is empty. */
function readSecret(variable: string, { env, mistakes }: Source): Secret | undefined {
  const value = env[variable];
  const file = env[`${variable}_FILE`];
  if (value !== undefined || !file) return value ? { value } : undefined;
  try {
    return { value: readFileSync(file, "utf8").trim(), file };
  } catch (error) {
    mistakes.push(`${variable}_FILE: ${messageOf(error)}`);
    return { file };
  }
}
