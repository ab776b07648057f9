/** The flags of the command line, from the tables of settings. */
import type { Table } from "./setting.ts";
import { CLUSTER, CONTROLLER, ELECTION, LOGS, SERVING } from "./settings.ts";
import { UPSTREAM } from "./upstream-flags.ts";

/** A flag of the command line. `ignored` says why it is accepted without effect. */
export interface Flag {
  readonly name: string;
  readonly value?: string;
  readonly doc: string;
  /** Heading in the help and the reference; those without one come first. */
  readonly section?: string;
  readonly ignored?: string;
  /** Given several times, the values count as one list. */
  readonly repeats?: boolean;
}

/** Values by flag name, as they are written on the command line. */
export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;

function flagsOf(table: Table, section?: string): readonly Flag[] {
  return Object.values(table).flatMap(({ flag: name, doc, fallback, unset = fallback, ...row }) =>
    name === undefined
      ? []
      : [{ ...row, name, doc: unset ? `${doc} (default: ${unset})` : doc, ...(section && { section }) }],
  );
}

/** Flags of every command that looks at a cluster. */
export const CLUSTER_FLAGS = flagsOf(CLUSTER);

/** Flags of `lotse run`, as upstream's manifests have them, and ours. */
export const RUN_FLAGS: readonly Flag[] = [
  ...CLUSTER_FLAGS,
  ...flagsOf(CONTROLLER),
  ...flagsOf(ELECTION, "High availability"),
  ...flagsOf(SERVING, "Health and metrics"),
  ...flagsOf(LOGS, "Logs"),
  ...flagsOf(UPSTREAM, "Accepted"),
];
