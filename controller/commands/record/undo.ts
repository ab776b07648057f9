/**
 * `lotse undo`: restores the previous configuration of a Service. It patches the Service rather than the cloud, where the
 * controller would repair the change at once.
 */
import type { V1Service } from "@kubernetes/client-node";
import { objectName } from "../../config/flag-values.ts";
import { ConfigError, KubeError } from "../../diagnostics/errors.ts";
import { forPeople, jsonText, oneLine } from "../../diagnostics/printable.ts";
import type { KubeClient } from "../../kube/client.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import { paths } from "../../kube/paths.ts";
import { parseEntries } from "../../record/entry.ts";
import { ENTRIES } from "../../record/record.ts";
import type { Given } from "../command-line.ts";
import { openAccess } from "../open.ts";
import { fieldText } from "../preview/forecast-text.ts";
import { planUndo, type Undo } from "./undo-plan.ts";

/** Exit code when there is something to undo and it was only shown. */
const TO_DO = 2;

/** Restores the previous configuration, or shows it. */
export async function undo({ flags, operands: [operand = ""] }: Given): Promise<number> {
  const path = servicePath(operand);
  using access = await openAccess(flags, process.env);
  const service = await readService(access.client, path, operand);
  const record = await new OwnConfigMap(access.client, access, "audit").read();
  const planned = planUndo(service, parseEntries(record[ENTRIES] ?? ""));
  const isDone = planned !== undefined && flags.yes === true;
  if (isDone) await carryOut(access.client, path, planned);
  const data = { service: operand, isDone, ...(planned && { undo: planned }) };
  process.stdout.write(flags.json ? jsonText(data) : undoText(oneLine(operand), forPeople(planned), isDone));
  return planned && !isDone ? TO_DO : 0;
}

/** What would be or was restored, for a terminal. */
export function undoText(service: string, planned: Undo | undefined, isDone: boolean): string {
  if (!planned) return `Service ${service}: nothing to undo: no earlier configuration of this Service is on record\n`;
  const { at, run, fields, notes } = planned;
  const lines = [
    `Service ${service}: ${isDone ? "restored" : "would be restored"} to its configuration of ${at} (run ${run}):`,
    ...fields.map((field) => `    ${fieldText(field)}`),
    ...[...new Set(notes)].map((note) => `note: ${note}`),
    isDone
      ? "the controller now updates the cloud; if the Service is managed from a repository, change it there too"
      : `restore with: lotse undo ${service} --yes`,
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

async function readService(client: KubeClient, path: string, name: string): Promise<V1Service> {
  const service = await client.get<V1Service>(path).catch((error: unknown) => {
    if (!(error instanceof KubeError && error.status === 404)) throw error;
    throw new ConfigError([`Service ${name} does not exist: ${LOST}`]);
  });
  const isBeingDeleted = service.metadata?.deletionTimestamp !== undefined;
  if (isBeingDeleted) throw new ConfigError([`Service ${name} is being deleted: ${LOST}`]);
  if (service.spec?.type !== "LoadBalancer")
    throw new ConfigError([`Service ${name} is not of type LoadBalancer: there is nothing to undo`]);
  return service;
}

const LOST = "a deleted load balancer and its address cannot be restored. Apply the Service again to create a new one";

async function carryOut(client: KubeClient, path: string, { service, patch }: Undo): Promise<void> {
  try {
    await client.patch(path, "merge", patch);
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 409)) throw error;
    throw new ConfigError([`Service ${service} has just been changed: review "lotse undo ${service}" again`]);
  }
}
