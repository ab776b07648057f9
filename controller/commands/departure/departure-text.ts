/** A departure for people. */
import type { Refusal } from "../../render/refusals.ts";
import type { DepartureMode, Disposition } from "./departure.ts";

export interface DepartureReport {
  readonly cluster: string;
  readonly mode: DepartureMode;
  /** False when it was only shown, or something failed. */
  readonly isDone: boolean;
  readonly dispositions: readonly Disposition[];
  /** Services that lose the finalizer. */
  readonly services: readonly string[];
  readonly refused: readonly Refusal[];
  readonly failures: readonly string[];
  readonly notes: readonly string[];
}

const SIGNS = { deleted: "-", "left behind": "<", stays: "=" } as const;

export function departureText(report: DepartureReport): string {
  const { cluster, mode, isDone, dispositions, services, refused, failures, notes } = report;
  if (dispositions.length === 0 && services.length === 0 && refused.length === 0)
    return `Cluster ${cluster}: nothing to ${mode}\n`;
  const lines = [
    `Cluster ${cluster}: ${headline(report)}`,
    ...dispositions.map(({ object, disposition, what }) => `${SIGNS[disposition]} ${object}: ${disposition}, ${what}`),
    ...(services.length > 0 ? [`finalizer taken from Services: ${services.join(", ")}`] : []),
    ...refused.map(({ object, mistakes }) => `! ${object}: ${mistakes.join("; ")}`),
    ...failures.map((failure) => `! failed: ${failure}`),
    ...notes.map((note) => `note: ${note}`),
    ...(isDone ? ["what the controller kept in the cluster is deleted, but for the record: lotse audit"] : []),
    ...(failures.length > 0 ? [`to go on: lotse ${mode} --yes`] : isDone ? [] : [`to do it: lotse ${mode} --yes`]),
  ];
  return `${lines.join("\n")}\n`;
}

function headline({ mode, isDone, failures }: DepartureReport): string {
  if (failures.length > 0) return "not everything could be done";
  if (mode === "destroy") return isDone ? "everything is deleted" : "would delete everything it has in the cloud";
  return isDone ? "its balancers are left behind" : "would leave its balancers behind, without owner";
}
