/** Brings a stored state in line with what exists, after a run was killed or the state was lost. */
import type { StoredStack } from "./stack.ts";
import { type Existing, settlePending, unknownTo, withFound } from "./stored-state.ts";

/**
 * Resolves what a killed run left in the state. Returns what exists and is still not in it: the state may have been lost.
 * `list` returns everything that exists and should be in the state.
 */
export async function settle<T extends Existing>(stack: StoredStack, list: () => Promise<readonly T[]>) {
  const findId = async (type: string, name: string) =>
    (await list()).find((it) => it.type === type && it.name === name)?.id;
  const state = await stack.amend((stored) => settlePending(stored, findId));
  return unknownTo(state, await list());
}

/** Adds resources to the state, so that a run deletes them. They are in the order of dependencies. */
export async function adopt(stack: StoredStack, existing: readonly Existing[], urnPrefix: string): Promise<void> {
  await stack.amend((stored) =>
    unknownTo(stored, existing).length > 0 ? withFound(stored, existing, urnPrefix) : undefined,
  );
}
