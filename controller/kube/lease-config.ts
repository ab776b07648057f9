/** The flags of leader election; names, defaults and rules are upstream's. */
import { objectName } from "../config/flag-values.ts";
import type { Reading } from "../config/reading.ts";
import { boolean, oneOf, seconds } from "../service/values.ts";

export interface LeaseConfig {
  readonly namespace: string;
  readonly name: string;
  /** Others wait this long after the last renewal they saw. */
  readonly durationMs: number;
  /** The leader stops when it could not renew for this long. */
  readonly deadlineMs: number;
  /** Time between two renewals, or two tries. */
  readonly retryMs: number;
}

/** Nothing when leader election is off. */
export function loadLeaseConfig(read: Reading): LeaseConfig | undefined {
  const period = (name: string, fallback: number) => read.flag(`leader-elect-${name}`, seconds(1, 3_600), fallback);
  const [duration, deadline, retry] = [
    period("lease-duration", 15),
    period("renew-deadline", 10),
    period("retry-period", 2),
  ];
  const config: LeaseConfig = {
    namespace: read.flag("leader-elect-resource-namespace", objectName, "kube-system"),
    name: read.flag("leader-elect-resource-name", objectName, "cloud-controller-manager"),
    durationMs: duration * 1000,
    deadlineMs: deadline * 1000,
    retryMs: retry * 1000,
  };
  read.flag("leader-elect-resource-lock", oneOf("leases"), "leases");
  if (!read.flag("leader-elect", boolean, true)) return undefined;
  if (duration <= deadline) {
    read.mistakes.push("--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline");
  }
  if (deadline <= retry * 1.2) {
    read.mistakes.push("--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period");
  }
  return config;
}
