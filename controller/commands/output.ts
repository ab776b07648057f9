/** What commands print: which cluster they are about, data as JSON or text, tables and counts. */
import { defined } from "../../stacks/units/defined.ts";
import type { LoadBalancerState } from "../../stacks/units/spec.ts";
import type { FlagValues } from "../config/flags.ts";
import { type Paint, paintFor } from "../diagnostics/paint.ts";
import { forPeople, jsonText, oneLine } from "../diagnostics/printable.ts";
import type { KubeAccess } from "../kube/kubeconfig.ts";

/** Exit codes of commands that show changes. 2 is that of `terraform plan -detailed-exitcode`. */
export const EXIT = { nothing: 0, error: 1, changes: 2, refused: 3 } as const;

/** Prints data, as JSON if `--json` was given. The text is made of strings that are safe to print in a line. */
export function print<T>(data: T, { json }: FlagValues, text: (shown: T, paint: Paint) => string): void {
  process.stdout.write(json ? jsonText(data) : text(forPeople(data), paintFor(process.stdout)));
}

/** A cluster, and how it was reached. Part of every JSON output. */
export interface Place {
  /** `--cluster-name`. */
  readonly cluster: string;
  /** Context of the kubeconfig; absent in a pod. */
  readonly context?: string;
  /** Address of the API server. */
  readonly server: string;
}

/** The cluster that an access leads to. */
export function placeOf(cluster: string, { context, server }: Pick<KubeAccess, "context" | "server">): Place {
  return { cluster, ...defined({ context }), server: server.href.replace(/\/$/, "") };
}

/** `Cluster kubernetes (context prod, https://10.0.0.1:6443)`, the beginning of every headline. */
export function placeText(place: Place): string {
  return `Cluster ${oneLine(place.cluster)} (${wayText(place)})`;
}

/** `context prod, https://10.0.0.1:6443`. */
export function wayText({ context, server }: Place): string {
  return oneLine(`${context === undefined ? "" : `context ${context}, `}${server}`);
}

/** `1 unit`, `2 units`; `several` is the plural of an irregular noun. */
export function counted(count: number, noun: string, several = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : several}`;
}

/** A load balancer as outputs name it. */
export interface ShownBalancer {
  readonly id: number;
  readonly name: string;
  readonly addresses: readonly string[];
}

/** What outputs say of a load balancer. */
export function shownBalancer({ id, name, ipv4, ipv6 }: LoadBalancerState): ShownBalancer {
  return { id, name, addresses: [ipv4, ipv6].filter((address) => address !== undefined) };
}

/** `load balancer web (id 7), 203.0.113.1`. */
export function balancerText({ id, name, addresses }: ShownBalancer): string {
  return [`load balancer ${name} (id ${id})`, ...addresses].join(", ");
}

/** Paragraphs, separated by empty lines. What is false or undefined is left out. */
export function paragraphs(...parts: readonly (string | false | undefined)[]): string {
  return `${parts.filter((part) => part !== false && part !== undefined).join("\n\n")}\n`;
}

/** The cells of a table's row. */
export type Row = readonly string[];

/** Rows under a title and a head, aligned. */
export function table(title: string, head: Row, rows: readonly Row[], paint: Paint): string {
  if (rows.length === 0) return `${paint(title, "bold")}  none`;
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: Row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd();
  return [paint(title, "bold"), paint(line(head), "dim"), ...rows.map(line)].join("\n");
}
