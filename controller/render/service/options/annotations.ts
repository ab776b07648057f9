/** Every option of a Service: its annotation, its cluster-wide default, its syntax and its meaning, in one table. */

import { LISTENER_OPTIONS } from "./listener-options.ts";
import { BALANCER_OPTIONS } from "./load-balancer-options.ts";
import type { Option } from "./option.ts";

export const PREFIX = "load-balancer.hetzner.cloud/";
export const ENV_PREFIX = "HCLOUD_LOAD_BALANCERS_";

export const OPTIONS = { ...BALANCER_OPTIONS, ...LISTENER_OPTIONS } as const;

/** Annotations that the official controller's documentation mentions and nobody reads (HCCM A37). */
export const READ_BY_NOBODY: readonly string[] = ["ipv4", "ipv6"];

export type OptionName = keyof typeof OPTIONS;
export type ListenerOptionName = keyof typeof LISTENER_OPTIONS;
type ValueOf<O> = O extends Option<infer T> ? T : never;

/** The options of one Service, or the cluster-wide defaults. Absent means not set anywhere. */
export type ServiceOptions = { readonly [K in OptionName]?: ValueOf<(typeof OPTIONS)[K]> };

/** The rows with their names. */
export const OPTION_ROWS = Object.entries(OPTIONS) as readonly (readonly [OptionName, Option<unknown>])[];

/** Rows of which one port may have its own value. */
export const PORT_ROWS = OPTION_ROWS.filter(([name]) => Object.hasOwn(LISTENER_OPTIONS, name));
