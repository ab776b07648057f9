/** The controller's status for `lotse status`, in a ConfigMap that is written only when the status changes. */

import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { OwnConfigMap } from "../kube/config-map.ts";
import type { Refusal } from "../render/refusals.ts";

/** How the last run ended. */
export interface LastRun {
  readonly run: string;
  /** ISO time of its end. */
  readonly at: string;
  readonly units: number;
  /** Units that failed, each with the cause. */
  readonly failed: Readonly<Record<string, string>>;
  readonly durationMs: number;
}

/** The status of the controller. */
export interface ControllerStatus {
  readonly lastRun?: LastRun;
  readonly refused: readonly Refusal[];
  /** Why the guard holds back removals, if it does. */
  readonly heldBack?: string;
  /** Id of the plan that is pending approval, if any. */
  readonly pending?: string;
}

interface BoardParts {
  readonly map: Pick<OwnConfigMap, "update">;
  readonly log: Logger;
}

/** Key of the status in the ConfigMap. */
export const STATUS = "status";
const GATHER_MS = 1_000;

/** Publishes the status after it has changed. */
export class StatusBoard {
  readonly #parts: BoardParts;
  #shown = "";
  #next = "";
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: BoardParts) {
    this.#parts = parts;
  }

  /** Sets the status and returns at once. Never fails. */
  report(status: ControllerStatus): void {
    this.#next = JSON.stringify(status);
    if (this.#next !== this.#shown) this.#timer ??= setTimeout(() => this.#write(), GATHER_MS);
  }

  /** Writes a pending change. */
  async stop(): Promise<void> {
    if (this.#timer) this.#write();
    await this.#writing;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#next;
    if (text === this.#shown) return;
    this.#shown = text;
    this.#writing = this.#writing
      .then(() => this.#parts.map.update(() => ({ [STATUS]: text })))
      .catch((error: unknown) => {
        this.#shown = ""; // the next turn retries
        this.#parts.log.warn({ error: messageOf(error) }, "status not written");
      });
  }
}

/** Parses a status; undefined when there is none. */
export function parseStatus(text: string | undefined): ControllerStatus | undefined {
  const status = parseJson<ControllerStatus>(text);
  return Array.isArray(status?.refused) ? status : undefined;
}
