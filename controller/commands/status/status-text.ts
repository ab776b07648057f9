/** The status of a cluster for a terminal. */

import { type Paint, plain } from "../../diagnostics/paint.ts";
import { counted, paragraphs, type Row, table, wayText } from "../output.ts";
import type { BalancerStatus, ClusterStatus, NodeStatus } from "./status-view.ts";

/** How to show a status. */
interface StatusTextOptions {
  readonly paint?: Paint;
  /** How to leave a live view. */
  readonly hint?: string;
  /** The command that shows changes that wait for approval. */
  readonly approve?: string;
}

/** The status as tables, with everything that needs attention at the end. */
export function statusText(status: ClusterStatus, { paint = plain, hint, approve }: StatusTextOptions = {}): string {
  const { balancers, routes, budget, refused, notes, heldBack, waiting, lastRun } = status;
  const degraded = balancers.filter(({ state }) => state === "degraded");
  return paragraphs(
    `${paint(`Cluster ${status.cluster}`, "bold")}: ${stateText(status)}\n${paint(circumstances(status, hint), "dim")}`,
    table("NODES", ["name", "state", "server", "addresses"], status.nodes.map(nodeRow), paint),
    table(
      "LOAD BALANCERS",
      ["service", "state", "id", "type", "healthy", "addresses"],
      balancers.map(balancerRow),
      paint,
    ),
    routes && `${paint("ROUTES", "bold")}  ${routes.wanted} in total, ${routes.toChange} to change`,
    lastRun && lastRunText(lastRun, paint),
    ...refused.map(({ object, mistakes }) => paint(`! ${object} is refused: ${mistakes.join("; ")}`, "red")),
    ...degraded.map(({ service, problems }) =>
      paint(`! Service ${service} is degraded: ${problems.join("; ")}`, "yellow"),
    ),
    heldBack !== undefined && paint(`! held back by the guard: ${heldBack}`, "red"),
    waiting > 0 && paint(`! ${counted(waiting, "change waits", "changes wait")} for approval: ${approve}`, "yellow"),
    notes.length > 0 && notes.map((note) => paint(`note: ${note}`, "dim")).join("\n"),
    paint(`${budget.remaining} of ${budget.limit} Hetzner API requests left, shared by the whole project`, "dim"),
  );
}

/** Short enough for a narrow window. */
function stateText({ changes, nodes, waiting, refused, balancers }: ClusterStatus): string {
  const degraded = balancers.filter(({ state }) => state === "degraded").length;
  const fresh = nodes.filter(({ isInitialised }) => !isInitialised).length;
  const unfinished = [
    ...(changes > 0 ? [`${counted(changes, "unit")} out of sync`] : []),
    ...(fresh > 0 ? [`${counted(fresh, "Node")} not initialised`] : []),
    ...(waiting > 0 ? [`${waiting} waiting for approval`] : []),
  ];
  return [
    ...(unfinished.length > 0 ? unfinished : ["in sync"]),
    ...(refused.length > 0 ? [`${refused.length} refused`] : []),
    ...(degraded > 0 ? [`${degraded} degraded`] : []),
  ].join(", ");
}

function circumstances(status: ClusterStatus, hint: string | undefined): string {
  const { leader, at } = status;
  const leading = leader
    ? `leader ${leader.holder}`
    : "no leader (leader election is off, or no controller is running)";
  return [`${at.slice(0, 19)}Z`, ...(hint === undefined ? [] : [hint]), wayText(status), leading].join("; ");
}

function nodeRow({ name, isReady, isInitialised, server, addresses }: NodeStatus): Row {
  const state = isInitialised ? (isReady ? "Ready" : "not Ready") : "not initialised";
  return [name, state, server, addresses.join(" ")];
}

function balancerRow({ service, state, id, type, targets, addresses }: BalancerStatus): Row {
  return [service, state, String(id ?? "–"), type ?? "–", `${targets.healthy}/${targets.total}`, addresses.join(" ")];
}

function lastRunText({ at, units, failed, durationMs }: NonNullable<ClusterStatus["lastRun"]>, paint: Paint): string {
  const seconds = (durationMs / 1000).toFixed(1);
  const failures = Object.entries(failed).map(([unit, cause]) => paint(`    ! ${unit}: ${cause}`, "red"));
  return [
    `${paint("LAST RUN", "bold")}  ${at}, ${counted(units, "unit")} in ${seconds} s, ${failures.length} failed`,
    ...failures,
  ].join("\n");
}
