/** `dev-env down`: removes everything, whatever condition the environment is in. */
import { adopt, settle } from "../../stacks/engine/recovery.ts";
import type { StoredStack } from "../../stacks/engine/stack.ts";
import { retry } from "../cluster/repeat.ts";
import { describeFound } from "../project/inventory.ts";
import { ask } from "../terminal/ask.ts";
import { type Environment, openStack } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { listMade, listOwn } from "./inventory.ts";

/** The API lists deleted resources for a moment. */
const PROOF = { deadlineMs: 10_000, intervalMs: 1_000 };

/**
 * Removes the environment; what is in the cluster goes with the servers. Resources that the state does not know are
 * removed only with consent: `isAgreed`, or the environment's name typed in.
 */
export async function down(env: Environment, isAgreed: boolean): Promise<void> {
  const { screen, folder, name } = env;
  const stack = await openStack(env, "lotse-dev-env");
  const confirm = async (unknown: string) => {
    screen.say("machines", `the state does not know ${unknown}: it may have been lost`);
    if (isAgreed || (await ask(`Type ${name} to remove them all: `)) === name) return;
    throw new DevEnvError('nothing was removed: run "dev-env down --yes", or restore the state');
  };
  await screen.during("machines", "removing servers, network and the rest", () => destroyMachines(env, stack, confirm));
  // Its resources went with the servers; in a backend of the user's, it would stay.
  await (await openStack(env, "lotse-dev-cluster")).pulumi(["stack", "rm", "--yes", "--force"]);
  await stack.pulumi(["stack", "rm", "--yes"]);
  await folder.remove();
  screen.say("gone", `nothing of ${name} is left in the cloud`);
}

/**
 * Removes the servers first, so that no controller on them creates load balancers, then the rest, including what the
 * controller left. Continues from wherever an earlier command stopped. Asks `confirm` before it removes what the state
 * does not know. Rejects unless the API lists nothing afterwards.
 */
export async function destroyMachines(
  { name, api }: Environment,
  stack: StoredStack,
  confirm: (unknown: string) => Promise<void>,
): Promise<void> {
  const urn = `urn:pulumi:${name}::lotse-dev-env`;
  const unknown = await settle(stack, () => listOwn(api.list, name));
  if (unknown.length > 0) await confirm(describeFound(unknown));
  await adopt(stack, unknown, urn);
  const made = await listMade(api.list, await listOwn(api.list, name));
  await stack.destroy({ target: [`${urn}::**hcloud:index/server:Server::**`] });
  await adopt(stack, [...made, ...(await listMade(api.list, await listOwn(api.list, name)))], urn);
  await stack.destroy();
  await retry(async () => {
    const left = await listOwn(api.list, name);
    if (left.length > 0) throw new DevEnvError(`the API still lists ${describeFound(left)}: run "dev-env down" again`);
  }, PROOF);
}
