/** Command-line flags, derived from the tables of settings. */
import type { Table } from "./setting.ts";
import { CLUSTER, CONTROLLER, ELECTION, LOGS, SERVING } from "./settings.ts";
import { UPSTREAM } from "./upstream-flags.ts";

/** A command-line flag. */
export interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly doc: string;
  /** Heading in the help and the reference. Flags without a section come first. */
  readonly section?: string;
  /** Why the flag is accepted but has no effect. */
  readonly ignored?: string;
  /** Set if the flag may be repeated: the separator that joins the values to one list. */
  readonly repeats?: "," | "\n";
  /** Flags that cannot be given together with this one. */
  readonly conflicts?: readonly string[];
}

/** Values by flag name, as written on the command line. */
export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;

function flagsOf(table: Table, section?: string): readonly Flag[] {
  return Object.values(table).flatMap(({ flag: name, doc, fallback, unset = fallback, ...row }) =>
    name === undefined
      ? []
      : [{ ...row, name, doc: unset ? `${doc} (default: ${unset})` : doc, ...(section && { section }) }],
  );
}

/** Flags of every command that reads a cluster. */
export const CLUSTER_FLAGS = flagsOf(CLUSTER);

/** Flags that lead to the controllers' Lease. */
export const LEASE_FLAGS = flagsOf({ name: ELECTION.name, namespace: ELECTION.namespace });

/** Flags of `lotse run`: upstream's and ours. */
export const RUN_FLAGS: readonly Flag[] = [
  ...CLUSTER_FLAGS,
  ...flagsOf(CONTROLLER),
  ...flagsOf(ELECTION, "High availability"),
  ...flagsOf(SERVING, "Health and metrics"),
  ...flagsOf(LOGS, "Logs"),
  ...flagsOf(UPSTREAM, "Accepted for compatibility"),
];
