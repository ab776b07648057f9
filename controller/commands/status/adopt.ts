/** `lotse adopt`: shows what a migration to Lotse would change, or hands a load balancer over to a Service. */
import { loadBalancerUnit, mainPart } from "../../../stacks/units/names.ts";
import { ConfigError, messageOf } from "../../diagnostics/errors.ts";
import { planRun } from "../../guard/plan.ts";
import type { RunInfo } from "../../hcloud/sender.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import { openWayOut, readText } from "../../net/outbound.ts";
import type { AuditEntry } from "../../record/entry.ts";
import { AuditRecord } from "../../record/record.ts";
import type { Snapshot } from "../../render/cluster.ts";
import { serviceName, serviceRef } from "../../render/service/ours.ts";
import type { Given } from "../command-line.ts";
import { commandConfig, open, planOf, type Session, textOf } from "../open.ts";
import { EXIT, placeText, print } from "../output.ts";
import { exitCodeOf } from "../preview/forecast.ts";
import { forecastText } from "../preview/forecast-text.ts";
import { forecastPlan } from "../preview/preview.ts";
import { whoAmI } from "../record/approve.ts";
import { commandText } from "../shell.ts";
import { adoptionsOf, adoptionText } from "./adoption.ts";
import { type Handover, type HandoverRequest, planHandover } from "./handover.ts";

/** Hands over the given load balancer; without one, shows the load balancer that each Service would get. */
export async function adopt({ flags, operands: [service] }: Given): Promise<number> {
  const loadBalancer = textOf(flags["load-balancer"]);
  if ((service === undefined) !== (loadBalancer === undefined))
    throw new ConfigError([
      "adopt: to hand over a load balancer, name both: lotse adopt default/web --load-balancer shop",
    ]);
  if (service === undefined || loadBalancer === undefined) return overview(flags);
  return handOver({ service, loadBalancer }, flags);
}

/** Prints the load balancer of each Service, and the changes of the first run. Read-only. */
async function overview(flags: Given["flags"]): Promise<number> {
  await using session = await open(commandConfig(flags));
  const planned = planOf(await session.observe(), session);
  const forecast = await forecastPlan(planned, session);
  print({ services: adoptionsOf(planned.rendered, forecast), forecast }, flags, (shown, paint) =>
    forecastText(shown.forecast, paint, adoptionText(shown.services)),
  );
  return exitCodeOf(forecast);
}

/** Shows what a handover would change and, with `--yes`, sets the labels with which the controller makes it. */
async function handOver(request: HandoverRequest, flags: Given["flags"]): Promise<number> {
  await using session = await open(commandConfig(flags));
  const snapshot = await session.observe();
  const planned = planHandover(request, snapshot, session.options);
  const { place } = session;
  if (!planned) {
    const why = "has this load balancer, or gets it from the controller soon";
    print({ ...place, ...request, isDone: true }, flags, ({ service }) => {
      return `${placeText(place)}: nothing to hand over: Service ${service} ${why}\n`;
    });
    return EXIT.nothing;
  }
  const forecast = await forecastHandover(planned, snapshot, session);
  const code = exitCodeOf(forecast);
  // A Service that stays refused has no unit to change; one with a port that collides has.
  const isPossible = forecast.units.length > 0 && code !== EXIT.error;
  const isDone = isPossible && flags.yes === true;
  if (isDone) await carryOut(planned, session);
  const next = commandText(["adopt", request.service], { ...flags, yes: true });
  const { id, name } = planned.balancer;
  const { notes } = planned;
  print({ ...place, ...request, isDone, id, name, notes, forecast }, flags, (shown, paint) => {
    const verb = isDone ? "was handed over" : "would be handed over";
    const end = isDone
      ? "the controller takes it over with its next full comparison, by default within a minute"
      : `hand it over with: ${next}`;
    const head = `load balancer ${shown.name} (id ${id}) ${verb} to Service ${shown.service}:`;
    const lines = [head, ...shown.notes.map((note) => `note: ${note}`)].join("\n");
    return `${lines}\n\n${forecastText(shown.forecast, paint)}${isPossible ? `\n${end}\n` : ""}`;
  });
  return isDone ? EXIT.nothing : code;
}

/** What the controller would change once the labels are set: of this Service only. */
async function forecastHandover({ service, balancer, labels }: Handover, snapshot: Snapshot, session: Session) {
  const { cloud } = snapshot;
  const loadBalancers = cloud.loadBalancers.map((one) => (one.id === balancer.id ? { ...one, labels } : one));
  const { rendered } = planOf({ ...snapshot, cloud: { ...cloud, loadBalancers } }, session);
  const unit = loadBalancerUnit(serviceRef(service));
  const own = { services: rendered.services.filter((intent) => intent.unit === unit), existing: rendered.existing };
  return forecastPlan({ snapshot, rendered: own, plan: planRun(own) }, session);
}

/**
 * Records the handover and sets the labels. The record comes first: only those who may write to the controller's
 * namespace get further.
 */
async function carryOut({ service, balancer, consent, labels }: Handover, session: Session): Promise<void> {
  const run = `adopt-${Date.now().toString(36)}`;
  const common = { run, unit: loadBalancerUnit(serviceRef(service)) };
  const reason = `lotse adopt, by ${await whoAmI(session.client)}`;
  const differences = Object.entries(consent).map(([key, to]) => ({ field: `label ${key}`, to, reason }));
  const object = `Service ${serviceName(service)}`;
  await save([{ kind: "change", at: new Date().toISOString(), ...common, object, differences }], session);
  const parts = { ...session, run, deadlineMs: session.config.runDeadlineMs };
  const failure = await setLabels(balancer, labels, parts).catch((error: unknown) => error);
  const outcome = { kind: "outcome", at: new Date().toISOString(), ...common } as const;
  await save(
    failure === undefined
      ? [{ ...outcome, status: "applied", operations: [`update ${mainPart(common.unit)}`] }]
      : [{ ...outcome, status: "failed", operations: [], failure: messageOf(failure) }],
    session,
  );
  if (failure !== undefined) throw failure;
}

/** Adds entries to the record of changes. Unlike the controller's, this fails when they cannot be saved. */
async function save(entries: readonly AuditEntry[], { client, config, log }: Session): Promise<void> {
  const map = new OwnConfigMap(client, config, "audit");
  const saved = Promise.withResolvers<void>();
  const record = new AuditRecord({ map: { update: async (change) => saved.resolve(map.update(change)) }, log });
  record.add(entries);
  await record.stop();
  await saved.promise;
}

interface LabelParts extends Pick<Session, "gateway" | "reader"> {
  readonly run: string;
  /** Time limit for the request. */
  readonly deadlineMs: number;
}

/** Sets the labels of a load balancer through the gateway, which lets nothing else pass. */
export async function setLabels(
  { id, name, labels: before }: Handover["balancer"],
  labels: Handover["labels"],
  { gateway, reader, run, deadlineMs }: LabelParts,
): Promise<void> {
  const path = `/load_balancers/${id}`;
  const now = await reader.labels("load_balancer", id);
  if (JSON.stringify(now) !== JSON.stringify(before))
    throw new ConfigError([`load balancer ${JSON.stringify(name)} has just been changed: run the command again`]);
  const permits: RunInfo["permits"] = (request) => request.method === "PUT" && request.path === path;
  const access = gateway.open({ run, mode: "apply", permits });
  const direct = openWayOut(access.endpoint, {}, 1); // `fetch` would pass the credential to a proxy of the environment
  try {
    const headers = { authorization: `Bearer ${access.token}`, "content-type": "application/json" };
    const options = { method: "PUT", headers, body: JSON.stringify({ labels }), timeoutMs: deadlineMs };
    const { status, body } = await readText(direct, access.endpoint + path, options);
    if (status < 200 || status >= 300) throw new Error(`the labels could not be set: ${body}`);
  } finally {
    direct.agent.destroy();
    await access.close();
  }
}
