/** The output of `lotse destroy` and `lotse release`. */
import type { Refusal } from "../../render/refusals.ts";
import type { DepartureMode, Disposition } from "./departure.ts";

/** What was or would be done. The JSON output. */
export interface DepartureReport {
  readonly cluster: string;
  readonly mode: DepartureMode;
  /** False when it was only shown or something failed. */
  readonly isDone: boolean;
  readonly dispositions: readonly Disposition[];
  /** Services that lose the finalizer. */
  readonly services: readonly string[];
  readonly refused: readonly Refusal[];
  readonly failures: readonly string[];
  readonly notes: readonly string[];
}

const SIGNS = { deleted: "-", "left behind": "<", stays: "=" } as const;
const WORDS = { deleted: "deleted", "left behind": "kept, no longer managed", stays: "kept" } as const;

/** The report for a terminal. */
export function departureText(report: DepartureReport): string {
  const { cluster, mode, dispositions, services, refused, failures, notes } = report;
  if (dispositions.length === 0 && services.length === 0 && refused.length === 0)
    return `Cluster ${cluster}: nothing to ${mode}\n`;
  const lines = [
    `Cluster ${cluster}: ${headline(report)}`,
    ...dispositions.map(
      ({ object, disposition, what }) => `${SIGNS[disposition]} ${object}: ${WORDS[disposition]}, ${what}`,
    ),
    ...(services.length > 0 ? [`${removal(report)} the finalizer from: ${services.join(", ")}`] : []),
    ...refused.map(({ object, mistakes }) => `! ${object}: ${mistakes.join("; ")}`),
    ...failures.map((failure) => `! failed: ${failure}`),
    ...notes.map((note) => `note: ${note}`),
    ...nextStep(report),
  ];
  return `${lines.join("\n")}\n`;
}

function headline({ mode, isDone, failures }: DepartureReport): string {
  if (failures.length > 0) return "some steps failed";
  if (mode === "destroy") return isDone ? "its cloud resources are deleted" : "would delete its cloud resources";
  return isDone ? "its load balancers are no longer managed" : "would keep its load balancers and stop managing them";
}

function removal({ isDone, failures }: DepartureReport): string {
  if (failures.length > 0) return "tried to remove";
  return isDone ? "removed" : "would remove";
}

/** Repeats no command line: the reader's own has flags that belong to it. */
function nextStep({ isDone, failures }: DepartureReport): readonly string[] {
  if (failures.length > 0) return ["to continue, run the same command again"];
  if (!isDone) return ["to proceed, run the same command with --yes"];
  return ["removed the controller's Secrets and ConfigMaps; the record of changes is kept: lotse audit"];
}
