/** Tables of immutable rows, with secondary keys and transactions. */

/** A stored row. Rows are immutable and replaced as a whole. */
export interface Row {
  readonly id: number;
}

type Undo<T> = readonly [id: number, before: T | undefined];

/**
 * Rows of one resource by id, in id order, with secondary keys. Because rows are never mutated, a snapshot is a list of
 * references, and changes can be rolled back.
 */
export class Table<T extends Row> {
  readonly #keysOf: (row: T) => readonly string[];
  readonly #keys = new Map<string, Set<number>>();
  readonly #selections = new Map<string, readonly T[]>();
  #rows = new Map<number, T>();
  #undo: Undo<T>[] | undefined;
  /** Increases with every change, so that callers can cache derived values. */
  revision = 0;

  constructor(keysOf: (row: T) => readonly string[] = () => []) {
    this.#keysOf = keysOf;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(id: number): T | undefined {
    return this.#rows.get(id);
  }

  values(): IterableIterator<T> {
    return this.#rows.values();
  }

  /** Ids of the rows with the secondary key, in no particular order. */
  idsWith(key: string): ReadonlySet<number> {
    return this.#keys.get(key) ?? NONE;
  }

  /** Rows with the secondary key, in id order. Cached until the table changes. */
  rowsWith(key: string): readonly T[] {
    const known = this.#selections.get(key);
    if (known) return known;
    const rows = [...this.idsWith(key)].map((id) => this.#rows.get(id)).filter((row) => row !== undefined);
    rows.sort((a, b) => a.id - b.id);
    this.#selections.set(key, rows);
    return rows;
  }

  put(row: T): T {
    this.#change(row.id, row);
    return row;
  }

  delete(id: number): void {
    if (this.#rows.has(id)) this.#change(id, undefined);
  }

  /** Starts a transaction, which `commit` or `rollback` ends. */
  begin(): void {
    this.#undo = [];
  }

  commit(): void {
    this.#undo = undefined;
  }

  /** Reverts all changes since `begin`. */
  rollback(): void {
    const undo = this.#undo ?? [];
    this.#undo = undefined;
    for (const [id, before] of undo.reverse()) this.#change(id, before);
    if (undo.some(([, before]) => before !== undefined)) this.#sortRows();
  }

  replaceAll(rows: readonly T[]): void {
    for (const id of [...this.#rows.keys()]) this.delete(id);
    for (const row of rows) this.put(row);
  }

  #change(id: number, after: T | undefined): void {
    const before = this.#rows.get(id);
    this.#undo?.push([id, before]);
    this.revision += 1;
    this.#selections.clear();
    if (before) this.#unlink(before);
    if (after) {
      this.#rows.set(id, after);
      this.#link(after);
    } else {
      this.#rows.delete(id);
    }
  }

  #link(row: T): void {
    for (const key of this.#keysOf(row)) {
      const ids = this.#keys.get(key);
      if (ids) ids.add(row.id);
      else this.#keys.set(key, new Set([row.id]));
    }
  }

  #unlink(row: T): void {
    for (const key of this.#keysOf(row)) {
      const ids = this.#keys.get(key);
      ids?.delete(row.id);
      if (ids?.size === 0) this.#keys.delete(key);
    }
  }

  #sortRows(): void {
    this.#rows = new Map([...this.#rows].sort(([a], [b]) => a - b));
  }
}

const NONE: ReadonlySet<number> = new Set();
