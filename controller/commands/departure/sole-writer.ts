/** Ensures that no controller runs while a command changes its resources. */
import { openLeadership } from "../../app/assemble.ts";
import type { Config } from "../../config/config.ts";
import { ConfigError, ifFound } from "../../diagnostics/errors.ts";
import type { KubeClient } from "../../kube/client.ts";
import { ALONE, type Leadership, type LeaseObject } from "../../kube/lease.ts";
import { paths } from "../../kube/paths.ts";
import type { Session } from "../open.ts";

/** The controllers' Lease; undefined when there is none. */
export async function readLease(client: KubeClient, { lease }: Config): Promise<LeaseObject | undefined> {
  return lease && ifFound(client.get<LeaseObject>(paths.lease(lease.namespace, lease.name)));
}

/** The holder of a Lease that has not expired. */
export function holderOf(lease: LeaseObject | undefined, now: Date): string | undefined {
  const { holderIdentity, renewTime, leaseDurationSeconds = 15 } = lease?.spec ?? {};
  const ageMs = now.getTime() - Date.parse(renewTime ?? "");
  return holderIdentity && ageMs < leaseDurationSeconds * 1000 ? holderIdentity : undefined;
}

/** What the Lease says about controllers that have to be stopped first. */
export function leaseNotes(lease: LeaseObject | undefined, now: Date): readonly string[] {
  if (!lease) return ["no Lease found: make sure that no controller with --leader-elect=false is running"];
  const holder = holderOf(lease, now);
  return holder === undefined ? [] : [`a controller is running, stop it first: ${holder}`];
}

/**
 * Takes the controllers' Lease and holds it to the end, so that no controller can start to lead. Throws when one leads already.
 * If the holder no longer renews, waits until the Lease expires by our own clock, as another controller would.
 */
export async function becomeSoleWriter(
  { config, client, log, ends }: Pick<Session, "config" | "client" | "log" | "ends">,
  isForced: boolean,
): Promise<Leadership> {
  const { lease } = config;
  if (isForced || !lease) return ALONE;
  const refuse = (holder: string): never => {
    const { name, durationMs } = lease;
    throw new ConfigError([
      `a controller is running (${holder} holds the Lease ${name}). Stop it first. If it crashed, retry in ${durationMs / 1000} s.`,
    ]);
  };
  const holder = holderOf(await readLease(client, config), new Date());
  if (holder !== undefined) refuse(holder);
  const leadership = await openLeadership(config, log, ends);
  const patienceMs = lease.durationMs + 3 * lease.retryMs;
  if (await leadership.acquire(AbortSignal.timeout(patienceMs))) return leadership;
  const rival = holderOf(await readLease(client, config), new Date());
  if (rival !== undefined) refuse(rival);
  const remedy = "see the warnings above, and check that you may create and update it";
  throw new ConfigError([`the Lease ${lease.name} could not be acquired in ${patienceMs / 1000} s: ${remedy}`]);
}
