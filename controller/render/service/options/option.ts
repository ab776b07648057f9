/** One option of a Service: a row of the tables in balancer-options.ts and listener-options.ts. */
import type { Parser } from "../../../formats/values.ts";

/** Headings of the reference, in its order. */
export const GROUPS = {
  balancer: "The balancer",
  network: "Network and addresses",
  targets: "Targets",
  listener: "Listeners",
  certificates: "Certificates",
  health: "Health checks",
  status: "Status of the Service",
} as const;

export interface Option<T> {
  /** Without prefix. */
  readonly annotation: string;
  readonly group: keyof typeof GROUPS;
  readonly parse: Parser<T>;
  /** What it does, for the reference. */
  readonly doc: string;
  /** What holds when nothing is set, for the reference. */
  readonly unset: string;
  /** Environment variable with the cluster-wide default, without its prefix. */
  readonly env?: string;
  /** Whether that variable set to zero counts as not set (HCCM E24, E25). */
  readonly envZeroIsUnset?: boolean;
}

/** A row, with the type of its value from its parser. */
export const option = <T>(row: Option<T>): Option<T> => row;
