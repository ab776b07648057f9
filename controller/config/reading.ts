/** Looks settings up in flags and environment, and notes what is wrong with them. */
import { readFileSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { boolean, type Parser } from "../service/values.ts";
import type { FlagValues } from "./flags.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export class Reading {
  readonly #flags: FlagValues;
  readonly #env: Environment;
  /** Everything found wrong so far, each a line for the user. */
  readonly mistakes: string[] = [];
  /** Things that were set and have no effect, each with the reason. */
  readonly warnings: string[] = [];

  constructor(flags: FlagValues, env: Environment) {
    this.#flags = flags;
    this.#env = env;
  }

  /** A flag; one given without a value counts as `true`. */
  flag<T>(name: string, parse: Parser<T>, fallback: T): T {
    const given = this.#flags[name];
    return this.#parse(`--${name}`, given === true ? "true" : given === false ? "false" : given, parse, fallback);
  }

  isGiven(flag: string): boolean {
    return this.#flags[flag] !== undefined;
  }

  /** A variable. One that is set but empty counts as not set, except where that can only be a mistake: a boolean. */
  env<T>(name: string, parse: Parser<T>, fallback: T): T {
    const given = this.#env[name];
    const isUnset = given === "" && (parse as unknown) !== boolean;
    return this.#parse(name, isUnset ? undefined : given, parse, fallback);
  }

  /** The text of a flag under the name of a setting; nothing when it is not given or empty. */
  text<K extends string>(key: K, flag: string): { [P in K]?: string } {
    const value = this.#flags[flag];
    return typeof value === "string" && value !== "" ? ({ [key]: value } as { [P in K]?: string }) : {};
  }

  /** A secret from a variable, or from the file that `<name>_FILE` names. The variable wins, even when it is empty. */
  secret(name: string): { readonly value?: string; readonly file?: string } {
    const value = this.#env[name];
    const file = this.#env[`${name}_FILE`];
    if (value !== undefined || !file) return value ? { value } : {};
    try {
      return { value: readFileSync(file, "utf8").trim(), file };
    } catch (error) {
      this.mistakes.push(`${name}_FILE: ${messageOf(error)}`);
      return { file };
    }
  }

  #parse<T>(source: string, given: string | undefined, parse: Parser<T>, fallback: T): T {
    if (given === undefined) return fallback;
    const parsed = parse(given);
    if ("value" in parsed) return parsed.value;
    this.mistakes.push(`${source}: ${JSON.stringify(given)} is not ${parsed.allowed}`);
    return fallback;
  }
}
