/** `dev-env down`: removes everything, whatever condition the environment is in. */
import { createInterface } from "node:readline/promises";
import { type Environment, openStack } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { openProject } from "./inventory.ts";
import { destroyMachines } from "./machines.ts";

/**
 * Removes the environment; what is in the cluster goes with the servers. Resources that the state does not know are
 * removed only with consent: `isAgreed`, or the environment's name typed in.
 */
export async function down(env: Environment, isAgreed: boolean): Promise<void> {
  const { screen, folder, name, access } = env;
  const stack = await openStack(env, "lotse-dev-env");
  using api = openProject(access);
  const confirm = async (unknown: readonly string[]) => {
    screen.say("machines", `the state does not know ${unknown.join(", ")}: it may have been lost`);
    if (isAgreed || (await ask(`Type ${name} to remove them all: `)) === name) return;
    throw new DevEnvError('nothing was removed: run "dev-env down --yes", or restore the state');
  };
  await screen.during("machines", "removing servers, network and the rest", () =>
    destroyMachines({ name, stack, list: api.list }, confirm),
  );
  await stack.pulumi(["stack", "rm", "--yes"]);
  await folder.remove();
  screen.say("gone", `nothing of ${name} is left in the cloud`);
}

async function ask(question: string): Promise<string> {
  if (!process.stdin.isTTY) return "";
  using terminal = createInterface({ input: process.stdin, output: process.stderr });
  return (await terminal.question(question)).trim();
}
