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

/** Makes the rows of a group, each from its annotation, its syntax, and the rest. */
export const optionsOf =
  (group: Option<unknown>["group"]) =>
  <T>(annotation: string, parse: Parser<T>, rest: Omit<Option<T>, "annotation" | "group" | "parse">): Option<T> => ({
    annotation,
    group,
    parse,
    ...rest,
  });
