/** One run of a stored stack: its failures, and its interruption. */
import { addAbortListener } from "node:events";
import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { parseFailure, stripMarkup } from "./errors.ts";
import type { Failure } from "./run.ts";

const KILL_GRACE_MS = 60_000;

/** A run failed, with the failure of each resource. A failure without a URN concerns the whole run. */
export class StackError extends Error {
  readonly failures: readonly StackFailure[];
  constructor(failures: readonly StackFailure[], cause: unknown) {
    super(failures.map(({ failure }) => failure.message).join("\n"), { cause });
    this.name = "StackError";
    this.failures = failures;
  }

  /** Whether it failed only because the API was busy. */
  get isTransient(): boolean {
    return this.failures.every(({ urn, failure }) => urn !== undefined && failure.retry === "soon");
  }
}

/** Why a run failed. */
export interface StackFailure {
  readonly urn?: string;
  readonly failure: Failure;
}

/** Interrupts a run when a signal fires, and kills it if it does not end in time. */
export class Interruption implements Disposable {
  readonly #kill = new AbortController();
  readonly #listener: Disposable;
  #timer: NodeJS.Timeout | undefined;

  constructor(signal: AbortSignal, interrupt: () => void) {
    this.#listener = addAbortListener(signal, () => {
      interrupt();
      this.#timer = setTimeout(() => this.#kill.abort(), KILL_GRACE_MS);
    });
  }

  get kill(): AbortSignal {
    return this.#kill.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#listener[Symbol.dispose]();
  }
}

/** Collects the failures of a run. The first message about a resource is the cause; later ones repeat it. */
export class Failures {
  readonly #byUrn = new Map<string, StackFailure>();

  note({ diagnosticEvent }: EngineEvent): void {
    if (diagnosticEvent?.severity !== "error" || stripMarkup(diagnosticEvent.message).trim() === "") return;
    const { urn = "", message } = diagnosticEvent;
    const about = urn.includes("::pulumi:pulumi:Stack::") ? "" : urn;
    const failure = about === "" ? programFailure(message) : parseFailure(message);
    if (!this.#byUrn.has(about)) this.#byUrn.set(about, { ...(about !== "" && { urn: about }), failure });
  }

  /** The failures of resources; without any, those of the program or the command line. */
  all(error: unknown): readonly StackFailure[] {
    const failures = [...this.#byUrn.values()];
    const ofResources = failures.filter(({ urn }) => urn !== undefined);
    if (ofResources.length > 0) return ofResources;
    return failures.length > 0 ? failures : [{ failure: parseFailure(error instanceof Error ? error.message : "") }];
  }
}

/** A program reports several mistakes in several lines, so all are kept. */
function programFailure(message: string): Failure {
  const text = stripMarkup(message).replace(/^error: /, "");
  return { ...parseFailure(message), message: text.trim() };
}
