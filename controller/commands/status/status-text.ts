/** The status of a cluster for a terminal. */
import { type Paint, plain } from "../paint.ts";
import type { BalancerStatus, ClusterStatus, NodeStatus } from "./status-view.ts";

/** The status as tables, with everything that needs attention at the end. */
export function statusText(status: ClusterStatus, paint: Paint = plain): string {
  const { leader, routes, budget, refused, heldBack, pending, lastRun } = status;
  const leading = leader ? `leader ${leader.holder}` : "no leader";
  const blocks = [
    `${paint(`Cluster ${status.cluster}`, "bold")}: ${changesText(status)}; ${leading}`,
    table("NODES", ["name", "state", "server", "addresses"], status.nodes.map(nodeRow), paint),
    table(
      "LOAD BALANCERS",
      ["service", "state", "id", "type", "healthy", "addresses"],
      status.balancers.map(balancerRow),
      paint,
    ),
    ...(routes ? [`${paint("ROUTES", "bold")}  ${routes.wanted} in total, ${routes.toChange} to change`] : []),
    ...(lastRun ? [lastRunText(lastRun, paint)] : []),
    ...refused.map(({ object, mistakes }) => paint(`! ${object}: ${mistakes.join("; ")}`, "red")),
    ...(heldBack === undefined ? [] : [paint(`! held back by the guard: ${heldBack}`, "red")]),
    ...(pending ? [paint(`! plan ${pending.id} is waiting for approval: lotse approve ${pending.id}`, "yellow")] : []),
    paint(`${budget.remaining} of ${budget.limit} Hetzner API requests left, shared by the whole project`, "dim"),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function changesText({ changes }: ClusterStatus): string {
  if (changes === 0) return "in sync";
  return `${changes} ${changes === 1 ? "unit" : "units"} out of sync`;
}

function nodeRow({ name, isReady, isInitialised, server, addresses }: NodeStatus): readonly string[] {
  const state = isInitialised ? (isReady ? "Ready" : "not Ready") : "not initialised";
  return [name, state, server, addresses.join(" ")];
}

function balancerRow({ service, state, id, type, targets, addresses }: BalancerStatus): readonly string[] {
  return [service, state, String(id ?? "–"), type ?? "–", `${targets.healthy}/${targets.total}`, addresses.join(" ")];
}

function lastRunText({ at, units, failed, durationMs }: NonNullable<ClusterStatus["lastRun"]>, paint: Paint): string {
  const seconds = (durationMs / 1000).toFixed(1);
  const failures = Object.entries(failed).map(([unit, cause]) => paint(`    ! ${unit}: ${cause}`, "red"));
  return [
    `${paint("LAST RUN", "bold")}  ${at}, ${units} units in ${seconds} s, ${failures.length} failed`,
    ...failures,
  ].join("\n");
}

function table(title: string, head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string {
  if (rows.length === 0) return `${paint(title, "bold")}  none`;
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd();
  return [paint(title, "bold"), paint(line(head), "dim"), ...rows.map(line)].join("\n");
}
