/** Builds and removes the machines of an environment. Both continue from wherever an earlier command stopped. */
import { setTimeout as delay } from "node:timers/promises";
import { describeType } from "../../stacks/engine/progress.ts";
import type { StoredStack } from "../../stacks/engine/stack.ts";
import { type Deployment, settlePending, unknownTo, withFound } from "../../stacks/engine/stored-state.ts";
import { DevEnvError } from "./errors.ts";
import { type ListReader, listMade, listOwn, type Resource, TYPES } from "./inventory.ts";

/** An environment's stack, and how to list what exists of it. */
export interface Machines {
  readonly name: string;
  readonly stack: StoredStack;
  readonly list: ListReader;
}

/** What the stack says about the machines. */
export interface MachineOutputs {
  readonly networkId: number;
  readonly apiAddress: string;
  readonly clusterId: number;
  readonly servers: Readonly<Record<string, string>>;
}

/** The API lists deleted resources for a moment. */
const PROOF = { tries: 10, intervalMs: 1_000 };

/** Makes the machines match the program. Refuses to work beside resources that the state does not know. */
export async function applyMachines(machines: Machines): Promise<MachineOutputs> {
  const { name, stack, list } = machines;
  const unknown = unknownTo(await settle(machines), await listOwn(list, name)).map(describe);
  if (unknown.length > 0)
    throw new DevEnvError(
      `the state of ${name} does not know ${unknown.join(", ")}. It may have been lost; nothing was changed.\n` +
        `Restore it, import the resources with "pulumi import", or remove them with "npm run dev-env down", which asks first`,
    );
  return (await stack.up()) as unknown as MachineOutputs;
}

/**
 * Removes everything: first the servers, so that no controller on them creates load balancers, then the rest, including
 * what the controller left. Asks `confirm` before it removes what the state does not know. Rejects unless the API lists
 * nothing afterwards.
 */
export async function destroyMachines(
  machines: Machines,
  confirm: (names: readonly string[]) => Promise<void>,
): Promise<void> {
  const { name, stack, list } = machines;
  const own = await listOwn(list, name);
  const unknown = unknownTo(await settle(machines), own);
  if (unknown.length > 0) await confirm(unknown.map(describe));
  await adopt(machines, own);
  const made = await listMade(list, own);
  await stack.destroy({ target: [`urn:pulumi:${name}::**${TYPES.servers}::**`] });
  await adopt(machines, [...made, ...(await listMade(list, await listOwn(list, name)))]);
  await stack.destroy();
  for (let attempt = 1; ; attempt++) {
    const left = await listOwn(list, name);
    if (left.length === 0) return;
    if (attempt === PROOF.tries)
      throw new DevEnvError(`the API still lists ${left.map(describe).join(", ")}: run "dev-env down" again`);
    await delay(PROOF.intervalMs);
  }
}

/** Resolves what a killed run left in the state. Returns the state. */
async function settle({ stack, list, name }: Machines): Promise<Deployment> {
  const deployment = await stack.deployment();
  const settled = await settlePending(deployment, async (type, resource) => {
    const own = await listOwn(list, name);
    return own.find((it) => it.type === type && it.name === resource)?.id;
  });
  if (settled) await stack.setDeployment(settled);
  return settled ?? deployment;
}

/** Adds listed resources to the state, so that the stack removes them. */
async function adopt({ stack, name }: Machines, found: readonly Resource[]): Promise<void> {
  const deployment = await stack.deployment();
  if (unknownTo(deployment, found).length > 0)
    await stack.setDeployment(withFound(deployment, found, `urn:pulumi:${name}::lotse-dev-env`));
}

function describe({ type, name, id }: Resource): string {
  return `${describeType(type)} ${name} (${id})`;
}
