import fc from "fast-check";
import { expect, test } from "vitest";
import { Table } from "../../../../dev-env/cloud/state/table.ts";

interface Item {
  readonly id: number;
  readonly tags: readonly string[];
}

const tag = fc.constantFrom("a", "b", "c");
const change = fc.oneof(
  fc.record({ id: fc.integer({ min: 1, max: 8 }), tags: fc.uniqueArray(tag) }),
  fc.integer({ min: 1, max: 8 }),
);

/** A row is stored, a number is deleted. */
function apply(table: Table<Item>, changes: readonly (Item | number)[]): void {
  for (const one of changes) {
    if (typeof one === "number") table.delete(one);
    else table.put(one);
  }
}

const contents = (table: Table<Item>) => [...table.values()].toSorted((a, b) => a.id - b.id);

test("secondary keys always find exactly the rows that have them", () => {
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const table = new Table<Item>(({ tags }) => tags);
      apply(table, changes);
      for (const key of ["a", "b", "c"]) {
        const wanted = contents(table).filter(({ tags }) => tags.includes(key));
        expect(table.rowsWith(key)).toEqual(wanted);
        expect(table.idsWith(key).size).toBe(wanted.length);
      }
    }),
  );
});

test("a rollback reverts everything since begin, including order and keys", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 8 })), fc.array(change), (ids, changes) => {
      const table = new Table<Item>(({ tags }) => tags);
      for (const id of ids.toSorted((a, b) => a - b)) table.put({ id, tags: ["a"] });
      const before = [...table.values()];
      table.begin();
      apply(table, changes);
      table.rollback();
      expect([...table.values()]).toEqual(before);
      expect(table.rowsWith("a")).toEqual(before);
      expect(table.rowsWith("b")).toEqual([]);
    }),
  );
});
