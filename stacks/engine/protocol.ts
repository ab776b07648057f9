/** Messages between the engine and its worker process. */
import type { RunReport, RunRequest, Step } from "./run.ts";

export type ToWorker =
  /** Another run is likely, and will have this access. */
  | { readonly kind: "warm"; readonly access: RunRequest["access"] }
  | { readonly kind: "run"; readonly request: RunRequest }
  | { readonly kind: "interrupt" };

export type FromWorker =
  | { readonly kind: "ready"; readonly cliVersion: string }
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "done"; readonly report: RunReport; readonly residentBytes: number };
