/** The output of `lotse destroy` and `lotse release`. */
import type { Refusal } from "../../render/refusals.ts";
import { type Place, placeText } from "../output.ts";
import type { DepartureMode, Disposition } from "./departure.ts";

/** What was or would be done. The JSON output. */
export interface DepartureReport extends Place {
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

/** Commands that the reader may want next. */
export interface NextCommands {
  /** The same command with `--yes`. */
  readonly proceed: string;
  readonly audit: string;
}

/** The report for a terminal. */
export function departureText(report: DepartureReport, next: NextCommands): string {
  const { dispositions, services, refused, failures, notes } = report;
  const lines = [
    `${placeText(report)}: ${headline(report)}`,
    ...dispositions.map(
      ({ object, disposition, what }) => `${SIGNS[disposition]} ${object}: ${WORDS[disposition]}, ${what}`,
    ),
    ...(services.length > 0 ? [`${removal(report)} the finalizer from: ${services.join(", ")}`] : []),
    ...refused.map(({ object, mistakes }) => `! ${object}: ${mistakes.join("; ")}`),
    ...failures.map((failure) => `! failed: ${failure}`),
    ...notes.map((note) => `note: ${note}`),
    ...(hasWork(report) ? [nextStep(report, next)] : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** Whether there is or was anything to do. */
export function hasWork({ dispositions, services, refused }: DepartureReport): boolean {
  return dispositions.some(({ disposition }) => disposition !== "stays") || services.length + refused.length > 0;
}

function headline(report: DepartureReport): string {
  const { mode, isDone, failures, dispositions } = report;
  if (!hasWork(report)) return `nothing to ${mode}`;
  if (failures.length > 0) return "some steps failed";
  if (mode === "release")
    return isDone ? "its load balancers are no longer managed" : "would keep its load balancers and stop managing them";
  const isPartial = dispositions.some(({ disposition }) => disposition !== "deleted");
  const what = `its cloud resources${isPartial ? ", except for those kept" : ""}`;
  return isDone ? `deleted ${what}` : `would delete ${what}`;
}

function removal({ isDone, failures }: DepartureReport): string {
  if (failures.length > 0) return "tried to remove";
  return isDone ? "removed" : "would remove";
}

function nextStep({ isDone, failures }: DepartureReport, { proceed, audit }: NextCommands): string {
  if (failures.length > 0) return `to continue: ${proceed}`;
  if (!isDone) return `to proceed: ${proceed}`;
  return `removed the controller's Secrets and ConfigMaps; the record of changes is kept: ${audit}`;
}
