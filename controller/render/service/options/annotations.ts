/** All options of a Service in one table: annotation, cluster-wide default, syntax and doc. */

import { LISTENER_OPTIONS } from "./listener-options.ts";
import { BALANCER_OPTIONS } from "./load-balancer-options.ts";
import type { Option } from "./option.ts";

/** Prefix of all annotations; shared with the official controller. */
export const PREFIX = "load-balancer.hetzner.cloud/";
/** Prefix of the environment variables for cluster-wide defaults. */
export const ENV_PREFIX = "HCLOUD_LOAD_BALANCERS_";

/** Rows by option name. */
export const OPTIONS = { ...BALANCER_OPTIONS, ...LISTENER_OPTIONS } as const;

/** Annotations that the official controller documents but does not read (HCCM A37). */
export const UNUSED_ANNOTATIONS: readonly string[] = ["ipv4", "ipv6"];

/** The annotations of a Service. */
export type Annotations = Readonly<Record<string, string>>;

/** Name of any option. */
export type OptionName = keyof typeof OPTIONS;
/** Name of an option that can be set per port. */
export type ListenerOptionName = keyof typeof LISTENER_OPTIONS;
type ValueOf<O> = O extends Option<infer T> ? T : never;

/** The options of one Service, or the cluster-wide defaults. Absent means not set. */
export type ServiceOptions = { readonly [K in OptionName]?: ValueOf<(typeof OPTIONS)[K]> };

/** All rows with their names. */
export const OPTION_ROWS = Object.entries(OPTIONS) as readonly (readonly [OptionName, Option<unknown>])[];

/** Rows that can be set per port. */
export const PORT_ROWS = OPTION_ROWS.filter(([name]) => Object.hasOwn(LISTENER_OPTIONS, name));
