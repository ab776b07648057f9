/** Turns records of the controller's log into lines for a person. */
import type { Line } from "./screen.ts";

/**
 * Log messages that are recognised: the one place that depends on the controller's wording. A unit test checks
 * that the controller still logs each of them.
 */
export const MESSAGES = {
  running: "controller running",
  nodeInitialised: "node initialised",
  nodeUpdated: "node updated",
  nodeTainted: "shutdown taint updated",
  nodeDeleted: "node deleted",
  changed: "cloud changed",
  changeFailed: "change failed",
  unitFailed: "unit failed",
  serviceReady: "service has its load balancer",
  serviceReleased: "finalizer removed",
  runFinished: "run finished",
  waitsForApproval: "changes wait for approval",
} as const;

/** One record of the controller's log. */
export interface LogRecord {
  readonly msg: string;
  readonly level: number;
  readonly [field: string]: unknown;
}

/** Pino's levels. */
const LEVEL = { warn: 40, error: 50 };

/** The record in a line of the log. A line that is not JSON is an error message, printed before there is a log. */
export function parseRecord(text: string): LogRecord {
  try {
    return JSON.parse(text) as LogRecord;
  } catch {
    return { msg: text, level: LEVEL.error };
  }
}

const line = (topic: string, text: string): Line => ({ topic, text });
const problem = (text: string): Line => ({ topic: "failed", text, isProblem: true });

const NARRATORS: Readonly<Record<string, (record: LogRecord) => Line>> = {
  [MESSAGES.running]: ({ nodes, services }) =>
    line("controller", `running, watches ${count(nodes, "Node")} and ${count(services, "Service")}`),
  [MESSAGES.nodeInitialised]: ({ node }) =>
    line("node", `${node} initialised: providerID, labels and addresses set, taint removed`),
  [MESSAGES.nodeUpdated]: ({ node, fields }) => line("node", `${node} updated: ${list(fields)}`),
  [MESSAGES.nodeTainted]: ({ node, isOff }) =>
    line("node", `${node}: shutdown taint ${isOff ? "added, because the server is off" : "removed"}`),
  [MESSAGES.nodeDeleted]: ({ node }) => line("node", `${node} deleted, because the server no longer exists`),
  [MESSAGES.changed]: ({ unit, part, operation }) => {
    const { topic, name } = parseUnit(String(unit));
    const words = partInWords(String(part));
    return line(topic, `${name}${words && `: ${words}`} ${operation}d`);
  },
  [MESSAGES.changeFailed]: ({ unit, part, operation }) => {
    const { topic, name } = parseUnit(String(unit));
    return problem(`${topic} ${name}: could not ${operation} ${partInWords(String(part)) || "it"}`);
  },
  [MESSAGES.unitFailed]: ({ unit, message }) => {
    const { topic, name } = parseUnit(String(unit));
    return problem(`${topic} ${name}: ${message}`);
  },
  [MESSAGES.serviceReady]: ({ service, ingress }) => line("service", `${service} is reachable at ${list(ingress)}`),
  [MESSAGES.serviceReleased]: ({ service }) => line("service", `${service}: finalizer removed`),
  [MESSAGES.runFinished]: ({ durationMs }) =>
    line("pulumi", `run finished in ${(Number(durationMs) / 1000).toFixed(1)} s`),
  [MESSAGES.waitsForApproval]: ({ units }) => {
    const names = (Array.isArray(units) ? units.map(String) : [])
      .map(parseUnit)
      .map(({ topic, name }) => `${topic} ${name}`);
    const changes = `${count(names.length, "change")} ${names.length === 1 ? "waits" : "wait"} for approval`;
    return line("approval", `${changes}: ${names.join(", ")}; review with: lotse approve`);
  },
};

/** Warnings that are mere advice, by the reason of their Event. */
const NOTES: ReadonlySet<unknown> = new Set(["LoadBalancerTypeUnconfigured"]);

/** The line for a record. Absent for records that only matter to developers; warnings and errors always get one. */
export function narrate(record: LogRecord): Line | undefined {
  const known = NARRATORS[record.msg]?.(record);
  if (known || record.level < LEVEL.warn) return known;
  const { object, service, node, reason, msg, error } = record;
  const text = `${object ?? service ?? node ?? "controller"}: ${msg}${error === undefined ? "" : `: ${error}`}`;
  if (NOTES.has(reason)) return line("note", text);
  return { topic: record.level < LEVEL.error ? "warning" : "error", text, isProblem: true };
}

/** Parses the name of a unit, such as `load-balancer/default/web@0c7e1a529d3b`. */
function parseUnit(unit: string): { readonly topic: string; readonly name: string } {
  const slash = unit.indexOf("/");
  return { topic: unit.slice(0, slash).replace("-", " "), name: unit.slice(slash + 1).replace(/@.*$/, "") };
}

/** A unit's part in words; empty for the part that the unit is named after. */
function partInWords(part: string): string {
  if (["balancer", "route", "certificate"].includes(part)) return "";
  if (part === "network") return "network attachment";
  return part
    .replace(/^listener-/, "listener ")
    .replace(/^server-/, "target server ")
    .replace(/^ip-/, "target ")
    .replace(/^rdns-ipv/, "reverse DNS of IPv");
}

function count(value: unknown, noun: string): string {
  return `${value} ${noun}${value === 1 ? "" : "s"}`;
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}
