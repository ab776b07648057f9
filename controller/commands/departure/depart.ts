/** `lotse destroy` and `lotse release`: leaving, with nothing left in the cloud or with everything left there. */
import { setTimeout } from "node:timers/promises";
import type { RunReport } from "../../../stacks/engine/run.ts";
import { startOwnEngine } from "../../app/assemble.ts";
import { Absence } from "../../apply/absence.ts";
import { Runner } from "../../apply/runner.ts";
import type { Config } from "../../config/config.ts";
import type { FlagValues } from "../../config/flags.ts";
import { messageOf, NotLeader } from "../../diagnostics/errors.ts";
import { forPeople, jsonText } from "../../diagnostics/printable.ts";
import { CloudReader } from "../../hcloud/reader.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import type { Leadership } from "../../kube/lease.ts";
import { SecretState } from "../../kube/state-secrets.ts";
import { Patcher } from "../../kube/write.ts";
import { AuditRecord } from "../../record/record.ts";
import type { Desired } from "../../render/cluster.ts";
import { serviceName } from "../../render/service/ownership/ours.ts";
import type { Given } from "../command-line.ts";
import { commandConfig, open, type Session } from "../open.ts";
import { type Departure, fatesOf, planDeparture, unproven, type Way } from "./departure.ts";
import { type DepartureReport, departureText } from "./departure-text.ts";
import { becomeSoleWriter, holderOf, readLease } from "./sole-writer.ts";

/** Exit code when there is something to do, and it was only shown. */
const TO_DO = 2;
/** Certificates go after the balancers that use them, and what was busy may be free the next time. */
const ROUNDS = 4;

export const destroy = ({ flags }: Given): Promise<number> => depart("destroy", flags);
export const release = ({ flags }: Given): Promise<number> => depart("release", flags);

/** Everything that a departure works with. */
interface Stage extends Session {
  readonly way: Way;
  readonly record: AuditRecord;
  readonly absence: Absence;
  leadership: Leadership | undefined;
}

async function depart(way: Way, flags: FlagValues): Promise<number> {
  await using stage = await openStage(way, commandConfig(flags, process.env));
  const before = await observeAndPlan(stage);
  const isAsked = flags.yes === true;
  const failures = isAsked ? await carryOut(stage, flags.force === true) : [];
  const notes = isAsked ? [] : await warnings(stage);
  const report = reportOf(stage, before, { isDone: isAsked && failures.length === 0, failures, notes });
  process.stdout.write(flags.json ? jsonText(report) : departureText(forPeople(report)));
  if (failures.length > 0) return 1;
  return !isAsked && (before.plan.length > 0 || report.services.length > 0) ? TO_DO : 0;
}

async function openStage(way: Way, config: Config): Promise<Stage> {
  let stage: Stage | undefined;
  const session = await open(config, {
    mayWrite: () => stage?.leadership?.isHeld ?? false,
    onExchange: (exchange) => stage?.record.note(exchange),
  });
  const { client, gateway, log, ends } = session;
  const record = new AuditRecord({ map: new OwnConfigMap(client, config, "audit"), log });
  ends.defer(() => record.stop());
  stage = { ...session, way, record, absence: new Absence(new CloudReader(gateway)), leadership: undefined };
  return stage;
}

async function observeAndPlan({ way, observe, options, absence }: Stage): Promise<Departure> {
  const departure = planDeparture(way, await observe(), options);
  absence.observe(departure.desired);
  return departure;
}

async function warnings({ client, config }: Stage): Promise<readonly string[]> {
  const holder = holderOf(await readLease(client, config), new Date());
  return [
    ...(holder === undefined ? [] : [`a controller is at work, stop it first: ${holder}`]),
    ...(config.network !== undefined && config.clusterCidrs.length > 0
      ? []
      : ["routes are left alone: give --cluster-cidr and HCLOUD_NETWORK as the controller has them"]),
  ];
}

/** Leaves. Returns what could not be done; doing it again goes on there. */
async function carryOut(stage: Stage, isForced: boolean): Promise<readonly string[]> {
  stage.leadership = await becomeSoleWriter(stage, isForced);
  const { left, failures } = await clearForGood(stage);
  const unreleased = await letGo(stage, left);
  const refused = left.refused.map(({ object, mistakes }) => `${object}: ${mistakes.join("; ")}`);
  const all = [...failures, ...refused, ...unreleased];
  if (all.length === 0) await forget(stage);
  return all;
}

/** Clears the cloud; and once more after a while when something of a Service may only have been late. */
async function clearForGood(stage: Stage): ReturnType<typeof clearCloud> {
  const cleared = await clearCloud(stage);
  const late = (await unproven(cleared.left, stage.absence)).filter(({ left }) => left.length === 0);
  if (late.length === 0) return cleared;
  const waitMs = Math.max(...late.map((doubt) => doubt.waitMs));
  const seconds = Math.ceil(waitMs / 1000);
  process.stderr.write(`lotse: looking again in ${seconds} s: some Services have no balancer, one may be on its way\n`);
  await setTimeout(waitMs);
  return clearCloud(stage);
}

/** Runs until nothing is left to do, and looks again after each run: only what the cloud lists is proof. */
async function clearCloud(stage: Stage): Promise<{ readonly left: Departure; readonly failures: readonly string[] }> {
  let left = await observeAndPlan(stage);
  if (left.plan.length === 0) return { left, failures: [] };
  const engine = await startOwnEngine(stage.config, stage.client, stage.ends);
  const context = async (desired: Desired) => {
    const { nodes, cloud } = left.snapshot;
    const { options, way } = stage;
    return { desired, nodes, servers: cloud.servers, defaults: options.defaults, occasion: `lotse ${way}` };
  };
  const runner = new Runner({ ...stage, engine, context });
  let failures: readonly string[] = [];
  for (let round = 1; round <= ROUNDS && left.plan.length > 0; round++) {
    failures = failuresOf(await runner.apply(left.plan, left.desired, []));
    left = await observeAndPlan(stage);
  }
  const still = left.plan.map(({ unit }) => `${unit} is still there`);
  return { left, failures: left.plan.length === 0 ? [] : failures.length > 0 ? failures : still };
}

function failuresOf(outcomes: RunReport["outcomes"]): readonly string[] {
  return Object.entries(outcomes).flatMap(([unit, outcome]) =>
    outcome.status === "failed" ? [`${unit}: ${outcome.failure.message}`] : [],
  );
}

/** Takes the finalizer from Services that have nothing in the cloud any more, and with what was deleted its address. */
async function letGo(stage: Stage, departure: Departure): Promise<readonly string[]> {
  const { way, client, leadership } = stage;
  const patcher = new Patcher(client);
  const doubts = new Map(
    (await unproven(departure, stage.absence)).map(({ wish, left }) => [wish.service.metadata?.uid, left]),
  );
  const failures: string[] = [];
  for (const service of departure.services) {
    try {
      const left = doubts.get(service.metadata?.uid) ?? [];
      if (left.length > 0) throw new Error(left.join("; "));
      if (!leadership?.isHeld) throw new NotLeader();
      await (way === "destroy" ? patcher.releaseService(service) : patcher.disownService(service));
    } catch (error) {
      failures.push(`Service ${serviceName(service)}: ${messageOf(error)}`);
    }
  }
  return failures;
}

/** Deletes what the controller kept for itself. The record of what was done stays. */
async function forget({ client, config }: Stage): Promise<void> {
  if (config.state === "cluster") await new SecretState(client, config.namespace, config.clusterName).delete();
  for (const kind of ["plan", "status"]) await new OwnConfigMap(client, config, kind).delete();
}

function reportOf(
  { way, config }: Stage,
  departure: Departure,
  ended: Pick<DepartureReport, "isDone" | "failures" | "notes">,
): DepartureReport {
  const services = departure.claimed.map(serviceName);
  return {
    cluster: config.clusterName,
    way,
    fates: fatesOf(departure),
    services,
    refused: departure.refused,
    ...ended,
  };
}
