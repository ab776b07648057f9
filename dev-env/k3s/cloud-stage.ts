/** Builds and removes what an environment has in the cloud. Both begin with what is there, so both go on from anywhere. */
import { setTimeout as delay } from "node:timers/promises";
import pluginPackage from "@pulumi/hcloud/package.json" with { type: "json" };
import { PROJECT } from "../../stacks/units/names.ts";
import { adopt, isSettled, TYPES } from "./adopt.ts";
import { type CloudOutputs, type CloudSpec, cloudProgram } from "./cloud.ts";
import { DevEnvError } from "./errors.ts";
import { type Listing, type ListReader, listEnvironment, ownParts, sizeOf } from "./listing.ts";
import type { Stage } from "./stage.ts";

/** The stage, and the way to look at the cloud. */
export interface CloudStage {
  readonly environment: string;
  readonly stackName: string;
  readonly stage: Stage;
  readonly read: ListReader;
  /** Uids of Services whose balancers are the environment's, wherever they are. */
  readonly uids?: readonly string[];
}

/** The cloud may list for a moment what it is deleting. */
const PROOF_TRIES = 10;
const PROOF_INTERVAL_MS = 1_000;

/** Makes the cloud what the spec says. Parts that a killed run left half-made are removed first, and made again. */
export async function applyCloud(cloud: CloudStage, spec: CloudSpec): Promise<CloudOutputs> {
  const strangers = await settle(cloud, ownParts(await listEnvironment(cloud.read, cloud.environment, cloud.uids)));
  if (strangers.length > 0) await destroyLeftovers(cloud, strangers);
  return parseOutputs(await cloud.stage.up(cloudProgram(spec)));
}

/** Destroys what a killed run left behind. The API may still be working on it, and refuses until it has finished. */
async function destroyLeftovers({ stage }: CloudStage, target: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await stage.destroy(target);
    } catch (error) {
      const isLocked = error instanceof DevEnvError && /\blocked\b/.test(error.message);
      if (!isLocked || attempt === PROOF_TRIES) throw error;
      await delay(PROOF_INTERVAL_MS);
    }
  }
}

/**
 * Removes everything, known to the state or not. The servers go first: from then on nobody inside makes new balancers, and
 * those that are still there can be told by their network. Rejects unless the cloud proves that nothing is left.
 */
export async function destroyCloud(cloud: CloudStage): Promise<void> {
  const found = await listEnvironment(cloud.read, cloud.environment, cloud.uids);
  await settle(cloud, found);
  if (found.servers.length > 0) await cloud.stage.destroy([`urn:pulumi:${cloud.stackName}::**${TYPES.servers}::*`]);
  await settle(cloud, await listEnvironment(cloud.read, cloud.environment, cloud.uids));
  await cloud.stage.destroy();
  await proveGone(cloud);
}

/** Brings the state in line with the cloud; gives the URNs of what it did not know. */
async function settle({ stage, stackName }: CloudStage, listing: Listing): Promise<readonly string[]> {
  const state = await stage.state();
  const name = { project: PROJECT, stack: stackName, providerVersion: pluginPackage.version };
  const adoption = adopt(state, listing, name);
  if (!isSettled(state, adoption)) await stage.setState(adoption.resources);
  return adoption.strangers;
}

async function proveGone({ read, environment, uids }: CloudStage): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const left = await listEnvironment(read, environment, uids);
    if (sizeOf(left) === 0) return;
    if (attempt === PROOF_TRIES)
      throw new DevEnvError(`the cloud still has ${describeLeft(left)}: run "dev-env down" again`);
    await delay(PROOF_INTERVAL_MS);
  }
}

function describeLeft(left: Listing): string {
  return Object.values(left)
    .flat()
    .map(({ name }) => name)
    .join(", ");
}

function parseOutputs({ networkId, controlPlane }: Readonly<Record<string, unknown>>): CloudOutputs {
  const { id, ipv4 } = (controlPlane ?? {}) as Partial<CloudOutputs["controlPlane"]>;
  if (typeof networkId !== "string" || typeof id !== "string" || typeof ipv4 !== "string" || ipv4 === "") {
    throw new DevEnvError('the stack says nothing of the control plane: run "dev-env up" again');
  }
  return { networkId, controlPlane: { id, ipv4 } };
}
