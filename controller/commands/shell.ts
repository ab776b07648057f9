/** Command lines that a user can copy into a POSIX shell. */
import type { FlagValues } from "../config/flags.ts";
import { oneLine } from "../diagnostics/printable.ts";

/** Quotes a word where necessary. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Flags that lead to a cluster. */
export const ACCESS: readonly string[] = ["kubeconfig", "context", "master", "cluster-name", "namespace"];

/** The flags among those given that lead to the same cluster. */
export function accessFlags(flags: FlagValues): FlagValues {
  return Object.fromEntries(ACCESS.map((name) => [name, flags[name]]));
}

/** A call of lotse with the flags that were given, in one line. */
export function commandText(words: readonly string[], flags: FlagValues): string {
  const given = Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return value === true ? [`--${name}`] : [`--${name}`, String(value)];
  });
  return oneLine(["lotse", ...words, ...given].map(quoted).join(" "));
}
