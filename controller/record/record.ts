/** Saves the record of changes in a ConfigMap, in the background. */
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Exchange } from "../hcloud/sender.ts";
import type { OwnConfigMap } from "../kube/config-map.ts";
import { type AuditEntry, keepNewest, renderEntries, writeEntry } from "./entry.ts";

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
  #unsaved: AuditEntry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(parts: RecordParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => new Date());
  }

  /** Adds entries and returns at once. Never fails. */
  add(entries: readonly AuditEntry[]): void {
    if (entries.length === 0) return;
    this.#unsaved.push(...entries);
    this.#timer ??= setTimeout(() => this.#save(), GATHER_MS);
  }

  /** Adds a request that was sent, if it was a write. */
  note(exchange: Exchange): void {
    const entry = writeEntry(exchange, this.#now());
    if (entry) this.add([entry]);
  }

  /** Saves what is left. */
  async stop(): Promise<void> {
    if (this.#timer) this.#save();
    await this.#saving;
  }

  #save(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = this.#unsaved;
    this.#unsaved = [];
    this.#saving = this.#saving.then(() => this.#saveAll(entries));
  }

  async #saveAll(entries: readonly AuditEntry[]): Promise<void> {
    const { map, log } = this.#parts;
    try {
      await map.update((data) => ({
        [ENTRIES]: keepNewest((data[ENTRIES] ?? "") + renderEntries(entries), MAP_BYTES),
      }));
    } catch (error) {
      // Kept for the next save, up to about the number that fits.
      this.#unsaved = [...entries, ...this.#unsaved].slice(-2_000);
      log.warn({ error: messageOf(error) }, "audit record not saved, retrying with the next change");
    }
  }
}
