/** Saves the record of changes in a ConfigMap, in the background. */
import type { Logger } from "../diagnostics/log.ts";
import type { Exchange } from "../hcloud/sender.ts";
import type { OwnConfigMap } from "../kube/config-map.ts";
import { BackgroundWrite } from "../work/background-write.ts";
import { type AuditEntry, parseEntries, renderEntries, writeEntry } from "./entry.ts";
import { keepShares } from "./shares.ts";

interface RecordParts {
  readonly map: Pick<OwnConfigMap, "update">;
  readonly log: Logger;
  readonly now?: () => Date;
}

/** A ConfigMap is limited to 1 MiB and sent whole with every update. */
const MAP_BYTES = 256 * 1024;
/** Entries within this time are saved together. */
const GATHER_MS = 2_000;
/** Key of the entries in the ConfigMap. */
export const ENTRIES = "entries";

/** Collects entries and saves them. */
export class AuditRecord {
  readonly #parts: RecordParts;
  readonly #now: () => Date;
  readonly #saving: BackgroundWrite;
  #unsaved: readonly AuditEntry[] = [];

  constructor(parts: RecordParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => new Date());
    const failure = "audit record not saved, retrying";
    this.#saving = new BackgroundWrite({ delayMs: GATHER_MS, write: () => this.#save(), failure, log: parts.log });
  }

  /** Adds entries and returns at once. Never fails. */
  add(entries: readonly AuditEntry[]): void {
    if (entries.length === 0) return;
    this.#unsaved = [...this.#unsaved, ...entries];
    this.#saving.request();
  }

  /** Adds a request that was sent, if it was a write. */
  note(exchange: Exchange): void {
    const entry = writeEntry(exchange, this.#now());
    if (entry) this.add([entry]);
  }

  /** Saves what is left. */
  stop(): Promise<void> {
    return this.#saving.stop();
  }

  async #save(): Promise<void> {
    const entries = this.#unsaved;
    this.#unsaved = [];
    try {
      await this.#parts.map.update(({ [ENTRIES]: saved = "" }) => {
        // The response to an earlier save may have been lost.
        const known = new Set(saved.split(/(?<=\n)/));
        const fresh = entries.filter((entry) => !known.has(renderEntries([entry])));
        return { [ENTRIES]: keepShares(saved + renderEntries(fresh), MAP_BYTES) };
      });
    } catch (error) {
      // Kept for the next save, as far as they will fit.
      this.#unsaved = parseEntries(keepShares(renderEntries([...entries, ...this.#unsaved]), MAP_BYTES));
      throw error;
    }
  }
}
