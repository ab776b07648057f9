/** One option of a Service: a row of the tables beside this file. */
import type { Parser } from "../../../formats/values.ts";

/** Headings of the reference, in order. */
export const GROUPS = {
  balancer: "Load balancer",
  network: "Network and addresses",
  targets: "Targets",
  listener: "Listeners",
  certificates: "Certificates",
  health: "Health checks",
  status: "Service status",
} as const;

/** An option with a value of type T. */
export interface Option<T> {
  /** Name of the annotation, without prefix. */
  readonly annotation: string;
  readonly group: keyof typeof GROUPS;
  readonly parse: Parser<T>;
  /** One-line doc, for the reference. */
  readonly doc: string;
  /** The default in words, for the reference. */
  readonly unset: string;
  /** Environment variable for the cluster-wide default, without prefix. */
  readonly env?: string;
  /** Whether a zero in that variable counts as not set (HCCM E24, E25). */
  readonly envZeroIsUnset?: boolean;
}

/** A row whose value type is inferred from its parser. */
export const option = <T>(row: Option<T>): Option<T> => row;
