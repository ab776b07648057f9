/** What the controller says of itself to whoever asks later: written when it changes, and never at rest. */

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

export interface ControllerStatus {
  readonly lastRun?: LastRun;
  readonly refused: readonly Refusal[];
  /** Why the guard holds removals back, if it does. */
  readonly heldBack?: string;
  /** Id of the plan that waits for approval, if one does. */
  readonly pending?: string;
}

export interface BoardParts {
  readonly map: Pick<OwnConfigMap, "update">;
  readonly log: Logger;
}

/** The name of the status in the ConfigMap. */
export const STATUS = "status";
const GATHER_MS = 1_000;

export class StatusBoard {
  readonly #parts: BoardParts;
  #shown = "";
  #next = "";
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: BoardParts) {
    this.#parts = parts;
  }

  /** Takes in how things stand. Never fails, and nobody waits for it. */
  report(status: ControllerStatus): void {
    this.#next = JSON.stringify(status);
    if (this.#next !== this.#shown) this.#timer ??= setTimeout(() => this.#write(), GATHER_MS);
  }

  /** Writes what is left. */
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
        this.#shown = ""; // the next turn tries again
        this.#parts.log.warn({ error: messageOf(error) }, "status not written");
      });
  }
}

/** The status from its text; nothing when there is none. */
export function parseStatus(text: string | undefined): ControllerStatus | undefined {
  const status = parseJson<ControllerStatus>(text);
  return Array.isArray(status?.refused) ? status : undefined;
}
