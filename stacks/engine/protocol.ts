/** Messages between the engine and its worker process. */
import type { RunReport, RunRequest, Step } from "./run.ts";

/** Messages to the worker. */
export type ToWorker =
  /** A run with this access is likely to follow. */
  | { readonly kind: "warm"; readonly access: RunRequest["access"] }
  | { readonly kind: "run"; readonly request: RunRequest }
  | { readonly kind: "interrupt" };

/** Messages from the worker. */
export type FromWorker =
  | { readonly kind: "ready"; readonly cliVersion: string }
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "done"; readonly report: RunReport; readonly residentBytes: number };
