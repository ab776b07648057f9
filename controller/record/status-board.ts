/** The controller's status for `lotse status`, in a ConfigMap that is written only when the status changes. */
import type { Logger } from "../diagnostics/log.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { OwnConfigMap } from "../kube/config-map.ts";
import type { Refusal } from "../render/refusals.ts";
import { BackgroundWrite } from "../work/background-write.ts";

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
  /** Pod CIDRs whose routes are managed. */
  readonly clusterCidrs?: readonly string[];
  /** Why the guard holds back removals, if it does. */
  readonly heldBack?: string;
  /** Number of changes that wait for approval, if any. */
  readonly waiting?: number;
}

interface BoardParts {
  readonly map: Pick<OwnConfigMap, "update">;
  readonly log: Logger;
}

/** Key of the status in the ConfigMap. */
export const STATUS = "status";
const GATHER_MS = 1_000;
/** A ConfigMap holds 1 MiB. */
const MAX_REFUSED_BYTES = 512 * 1024;

/** Publishes the status after it has changed. */
export class StatusBoard {
  readonly #writing: BackgroundWrite;
  #shown = "";
  #next = "";

  constructor({ map, log }: BoardParts) {
    const write = async () => {
      const text = this.#next;
      if (text === this.#shown) return;
      await map.update(() => ({ [STATUS]: text }));
      this.#shown = text;
    };
    this.#writing = new BackgroundWrite({ delayMs: GATHER_MS, write, failure: "status not written", log });
  }

  /** Sets the status and returns at once. Never fails. */
  report(status: ControllerStatus): void {
    this.#next = JSON.stringify({ ...status, refused: fitting(status.refused) });
    if (this.#next !== this.#shown) this.#writing.request();
  }

  /** Writes a pending change. */
  stop(): Promise<void> {
    return this.#writing.stop();
  }
}

/** Those that fit: a tenant with many mistakes must not hide the status of others. */
function fitting(refused: readonly Refusal[]): readonly Refusal[] {
  let bytes = 0;
  return refused.filter((refusal) => {
    const more = Buffer.byteLength(JSON.stringify(refusal));
    const isFitting = bytes + more <= MAX_REFUSED_BYTES;
    if (isFitting) bytes += more;
    return isFitting;
  });
}

/** Parses a status; undefined when there is none. */
export function parseStatus(text: string | undefined): ControllerStatus | undefined {
  const status = parseJson<ControllerStatus>(text);
  return Array.isArray(status?.refused) ? status : undefined;
}
