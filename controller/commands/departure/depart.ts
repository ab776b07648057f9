/** `lotse destroy` and `lotse release`: stop using Lotse, and delete or keep everything in the cloud. */
import { createInterface } from "node:readline/promises";
import { failuresIn } from "../../../stacks/engine/progress.ts";
import { startOwnEngine } from "../../app/assemble.ts";
import { Absence, proven } from "../../apply/proof.ts";
import { Runner } from "../../apply/runner.ts";
import type { FlagValues } from "../../config/flags.ts";
import { ConfigError, messageOf, NotLeader } from "../../diagnostics/errors.ts";
import { oneLine } from "../../diagnostics/printable.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import type { Leadership } from "../../kube/lease.ts";
import { SecretState } from "../../kube/state-secrets.ts";
import { Patcher } from "../../kube/write.ts";
import { AuditRecord } from "../../record/record.ts";
import type { Rendered } from "../../render/cluster.ts";
import { serviceName } from "../../render/service/ours.ts";
import { SYSTEM_CLOCK } from "../../work/clock.ts";
import type { Given } from "../command-line.ts";
import { commandConfig, open, type Session } from "../open.ts";
import { EXIT, placeText, print } from "../output.ts";
import { accessFlags, commandText } from "../shell.ts";
import { type Departure, type DepartureMode, dispositionsOf, planDeparture, unproven } from "./departure.ts";
import { type DepartureReport, departureText, hasWork } from "./departure-text.ts";
import { becomeSoleWriter, leaseNotes, readLease } from "./sole-writer.ts";

/** Maximum number of runs: certificates go after the load balancers that use them, and locked resources need another run. */
const ROUNDS = 4;

/** Deletes everything of the cluster in the cloud. */
export const destroy = ({ flags }: Given): Promise<number> => depart("destroy", flags);
/** Stops managing everything of the cluster in the cloud. */
export const release = ({ flags }: Given): Promise<number> => depart("release", flags);

/** A session with what a departure needs. */
interface Departing extends Session {
  readonly mode: DepartureMode;
  readonly record: AuditRecord;
  readonly absence: Absence;
  leadership: Leadership | undefined;
}

/**
 * | --yes | terminal | |
 * | --- | --- | --- |
 * | given | | carries it out |
 * | absent | yes | shows it, and carries it out when the cluster's name is typed |
 * | absent | no, or --json | only shows it |
 */
async function depart(mode: DepartureMode, flags: FlagValues): Promise<number> {
  await using departing = await openDeparting(mode, flags);
  const before = await observeAndPlan(departing);
  if (flags.yes !== true) {
    const shown = reportOf(departing, before, { isDone: false, failures: [], notes: await warnings(departing, true) });
    show(shown, flags);
    if (!hasWork(shown)) return 0;
    const isTerminal = process.stdin.isTTY && process.stdout.isTTY && !flags.json;
    if (!isTerminal || !(await isConfirmed(departing))) return EXIT.changes;
    const now = await observeAndPlan(departing);
    if (JSON.stringify(dispositionsOf(now)) !== JSON.stringify(shown.dispositions))
      throw new ConfigError([
        "nothing was changed, because the cluster or the cloud has changed since: review it again",
      ]);
  }
  const failures = await carryOut(departing, flags.force === true);
  const notes = await warnings(departing, false);
  show(reportOf(departing, before, { isDone: failures.length === 0, failures, notes }), flags);
  return failures.length > 0 ? 1 : 0;
}

function show(report: DepartureReport, flags: FlagValues): void {
  const proceed = commandText([report.mode], { ...flags, yes: true });
  const audit = commandText(["audit"], accessFlags(flags));
  print(report, flags, (shown) => departureText(shown, { proceed, audit }));
}

/** Whether the user typed the name of the cluster. Ctrl-C and Ctrl-D decline. */
async function isConfirmed({ mode, place }: Departing): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new AbortController();
  terminal.once("close", () => ended.abort());
  const question = `\n${placeText(place)}\nType the cluster's name, ${oneLine(place.cluster)}, to ${mode} it: `;
  const answer = await terminal.question(question, { signal: ended.signal }).catch(() => "");
  terminal.close();
  const isRight = answer.trim() === place.cluster;
  if (!isRight) process.stdout.write("\nnothing was changed\n");
  return isRight;
}

async function openDeparting(mode: DepartureMode, flags: FlagValues): Promise<Departing> {
  const config = commandConfig(flags);
  let departing: Departing | undefined;
  const session = await open(config, {
    mayWrite: () => departing?.leadership?.isHeld ?? false,
    onExchange: (exchange) => departing?.record.note(exchange),
  });
  const { client, reader, log, ends } = session;
  const record = new AuditRecord({ map: new OwnConfigMap(client, config, "audit"), log });
  ends.defer(() => record.stop());
  departing = { ...session, mode, record, absence: new Absence(reader), leadership: undefined };
  return departing;
}

async function observeAndPlan({ mode, observe, options, absence }: Departing): Promise<Departure> {
  const departure = planDeparture(mode, await observe(), options);
  absence.observe(departure.rendered);
  return departure;
}

async function warnings({ mode, client, config }: Departing, isAhead: boolean): Promise<readonly string[]> {
  return [
    ...(isAhead ? leaseNotes(await readLease(client, config), new Date()) : []),
    ...(mode === "release" || config.network !== undefined
      ? []
      : ["routes are neither shown nor deleted: set HCLOUD_NETWORK as for the controller"]),
  ];
}

/** Carries out the departure. Returns the failures; running the command again continues. */
async function carryOut(departing: Departing, isForced: boolean): Promise<readonly string[]> {
  departing.leadership = await becomeSoleWriter(departing, isForced);
  const { left, failures } = await clearUntilProven(departing);
  const claimed = await removeFinalizers(departing, left);
  const refused = left.refused.map(({ object, mistakes }) => `${object}: ${mistakes.join("; ")}`);
  const all = [...failures, ...refused, ...claimed];
  return all.length > 0 ? all : deleteOwnObjects(departing);
}

/** Clears the cloud, and repeats it after a while if a load balancer may have been in creation. */
async function clearUntilProven(departing: Departing): ReturnType<typeof clearCloud> {
  const cleared = await clearCloud(departing);
  const late = (await unproven(cleared.left, departing.absence)).filter(({ left }) => left.length === 0);
  if (late.length === 0) return cleared;
  const waitMs = Math.max(...late.map((doubt) => doubt.waitMs));
  const seconds = Math.ceil(waitMs / 1000);
  process.stderr.write(
    `lotse: checking again in ${seconds} s: some Services have no load balancer, but an earlier request may still create one\n`,
  );
  await SYSTEM_CLOCK.pause(waitMs);
  return clearCloud(departing);
}

/** Runs until nothing is left to do. Observes after each run, because only the cloud's lists are proof. */
async function clearCloud(departing: Departing) {
  let left = await observeAndPlan(departing);
  if (left.plan.length === 0) return { left, failures: [] };
  const engine = await startOwnEngine(departing.config, departing.ends);
  const context = async (rendered: Rendered) => {
    const { nodes, cloud } = left.snapshot;
    const { options, mode } = departing;
    return { rendered, nodes, servers: cloud.servers, defaults: options.defaults, occasion: `lotse ${mode}` };
  };
  const runner = new Runner({ ...departing, engine, context });
  let failures: readonly string[] = [];
  for (let round = 1; round <= ROUNDS && left.plan.length > 0; round++) {
    const { plan } = left;
    const run = await runner.apply(plan, left.rendered, []);
    left = await observeAndPlan(departing).catch((error: unknown) => {
      runner.conclude(run);
      throw error;
    });
    const outcomes = proven(run.outcomes, plan, left);
    runner.conclude({ ...run, outcomes });
    failures = failuresIn(outcomes).map(([unit, { message }]) => `${unit}: ${message}`);
  }
  const still = left.plan.map(({ unit }) => `${unit} still exists`);
  return { left, failures: left.plan.length === 0 ? [] : failures.length > 0 ? failures : still };
}

/** Removes the finalizer from Services without anything left in the cloud, and with `destroy` their addresses. */
async function removeFinalizers(departing: Departing, departure: Departure): Promise<readonly string[]> {
  const { mode, client, leadership } = departing;
  const patcher = new Patcher(client);
  const doubts = new Map(
    (await unproven(departure, departing.absence)).map(({ intent, left }) => [intent.service.metadata?.uid, left]),
  );
  const failures: string[] = [];
  for (const service of departure.services) {
    try {
      const left = doubts.get(service.metadata?.uid) ?? [];
      if (left.length > 0) throw new Error(left.join("; "));
      if (!leadership?.isHeld) throw new NotLeader();
      await (mode === "destroy" ? patcher.removeFinalizer(service) : patcher.disownService(service));
    } catch (error) {
      failures.push(`Service ${serviceName(service)}: ${messageOf(error)}`);
    }
  }
  return failures;
}

/** Deletes the controller's own objects, except for the record of changes. Returns the failures. */
async function deleteOwnObjects({ client, config }: Departing): Promise<readonly string[]> {
  const state = config.state === "cluster" ? [new SecretState(client, config.namespace, config.clusterName)] : [];
  const maps = ["plan", "status"].map((kind) => new OwnConfigMap(client, config, kind));
  const deleted = await Promise.allSettled([...state, ...maps].map((own) => own.delete()));
  return deleted.flatMap((one) => (one.status === "rejected" ? [messageOf(one.reason)] : []));
}

function reportOf(
  { mode, place }: Departing,
  departure: Departure,
  ended: Pick<DepartureReport, "isDone" | "failures" | "notes">,
): DepartureReport {
  const { claimed, refused } = departure;
  const dispositions = dispositionsOf(departure);
  return { ...place, mode, dispositions, services: claimed.map(serviceName), refused, ...ended };
}
