/**
 * `lotse undo`: restores the previous configuration of a Service. It patches the Service rather than the cloud, where the
 * controller would repair the change at once.
 */
import type { V1Service } from "@kubernetes/client-node";
import { loadBalancerUnit } from "../../../stacks/units/names.ts";
import { objectName } from "../../config/flag-values.ts";
import { ConfigError, ifFound, isConflict } from "../../diagnostics/errors.ts";
import type { KubeClient } from "../../kube/client.ts";
import { paths } from "../../kube/paths.ts";
import type { AuditEntry } from "../../record/entry.ts";
import { fieldText } from "../../record/forecast-text.ts";
import { serviceName, serviceRef } from "../../render/service/ours.ts";
import type { Given } from "../command-line.ts";
import { openAccess } from "../open.ts";
import { EXIT, placeText, print } from "../output.ts";
import { commandText } from "../shell.ts";
import { readEntries } from "./audit.ts";
import { planUndo, type Undo } from "./undo-plan.ts";

/** Restores the previous configuration, or shows it. */
export async function undo({ flags, operands: [operand = ""] }: Given): Promise<number> {
  const path = servicePath(operand);
  using access = await openAccess(flags);
  const entries = await readEntries(access);
  const service = await ifFound(access.client.get<V1Service>(path));
  if (!service) throw new ConfigError([`Service ${operand} does not exist: ${LOST}`]);
  requireUndoable(service, entries);
  const planned = planUndo(service, entries);
  const isDone = planned !== undefined && flags.yes === true;
  if (isDone) await carryOut(access.client, path, planned);
  const data = { ...access.place, service: operand, isDone, ...(planned && { undo: planned }) };
  const next = commandText(["undo", operand], { ...flags, yes: true });
  print(data, flags, (shown) => `${placeText(access.place)}\n${undoText(shown, next)}`);
  return planned && !isDone ? EXIT.changes : EXIT.nothing;
}

interface ShownUndo {
  readonly service: string;
  readonly undo?: Undo;
  readonly isDone: boolean;
}

/** What would be or was restored, for a terminal. `next` is the command that restores it. */
export function undoText({ service, undo: planned, isDone }: ShownUndo, next: string): string {
  if (!planned) return `Service ${service}: nothing to undo: no earlier configuration of this Service is on record\n`;
  const { at, run, fields, notes } = planned;
  const lines = [
    `Service ${service}: ${isDone ? "restored" : "would be restored"} to its configuration of ${at} (run ${run}):`,
    ...fields.map((field) => `    ${fieldText(field)}`),
    ...[...new Set(notes)].map((note) => `note: ${note}`),
    isDone
      ? "the controller now updates the cloud; if the Service is managed from a repository, change it there too"
      : `restore with: ${next}`,
  ];
  return `${lines.join("\n")}\n`;
}

function servicePath(operand: string): string {
  const [namespace = "", name = "", ...rest] = operand.split("/");
  const isName = [namespace, name].every((part) => "value" in objectName(part));
  if (!isName || rest.length > 0)
    throw new ConfigError([
      `undo: ${JSON.stringify(operand)} is not of the form namespace/service, such as default/web`,
    ]);
  return paths.service(namespace, name);
}

/** Throws for a Service that has no load balancer, with what is known of the reason. */
export function requireUndoable(service: V1Service, entries: readonly AuditEntry[]): void {
  const { metadata, spec } = service;
  const name = `Service ${serviceName(service)}`;
  if (metadata?.deletionTimestamp !== undefined) throw new ConfigError([`${name} is being deleted: ${LOST}`]);
  if (spec?.type === "LoadBalancer") return;
  const unit = loadBalancerUnit(serviceRef(service));
  const wasBalanced = entries.some((entry) => entry.unit === unit);
  throw new ConfigError([
    wasBalanced
      ? `${name} is no longer of type LoadBalancer: ${LOST.replace("Apply the Service again", "Set its type again")}`
      : `${name} is of type ${spec?.type ?? "ClusterIP"}, and the record contains no load balancer of it: nothing to undo`,
  ]);
}

const LOST = "a deleted load balancer and its address cannot be restored. Apply the Service again to create a new one";

async function carryOut(client: KubeClient, path: string, { service, patch }: Undo): Promise<void> {
  try {
    await client.patch(path, "merge", patch);
  } catch (error) {
    if (!isConflict(error)) throw error;
    throw new ConfigError([`Service ${service} has just been changed: run the command without --yes to review it`]);
  }
}
