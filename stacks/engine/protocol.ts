/** Messages between the engine and its worker process. */
import type { RunReport, RunRequest, Step } from "./run.ts";

/** What is known of a run before its request. */
export interface Beginning extends Pick<RunRequest, "mode" | "access"> {
  /** Variables with which the command line finds the plugin. */
  readonly plugin: Readonly<Record<string, string>>;
}

/** Messages to the worker: `begin` first, `run` at most once. */
export type ToWorker =
  | { readonly kind: "begin"; readonly beginning: Beginning }
  | { readonly kind: "run"; readonly request: RunRequest }
  | { readonly kind: "interrupt" };

/** Messages from the worker. */
export type FromWorker =
  /** The command line has read the state; from now on the cloud may be changed. */
  | { readonly kind: "started" }
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "done"; readonly outcomes: RunReport["outcomes"] }
  /** The command line ended before it started; the worker ends, too. */
  | { readonly kind: "failed"; readonly message: string };
