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

type Narrator = (record: LogRecord) => Line;

const NARRATORS: Readonly<Record<string, Narrator>> = {
  [MESSAGES.running]: ({ nodes, services }) => ({
    topic: "controller",
    text: `running, watches ${count(nodes, "Node")} and ${count(services, "Service")}`,
  }),
  [MESSAGES.nodeInitialised]: ({ node }) => ({
    topic: "node",
    text: `${node} initialised: providerID, labels and addresses set, taint removed`,
  }),
  [MESSAGES.nodeUpdated]: ({ node, fields }) => ({ topic: "node", text: `${node} updated: ${list(fields)}` }),
  [MESSAGES.nodeTainted]: ({ node, isOff }) => ({
    topic: "node",
    text: isOff ? `${node}: shutdown taint added, because the server is off` : `${node}: shutdown taint removed`,
  }),
  [MESSAGES.nodeDeleted]: ({ node }) => ({
    topic: "node",
    text: `${node} deleted, because the server no longer exists`,
  }),
  [MESSAGES.changed]: ({ unit, part, operation }) => {
    const { topic, name } = parseUnit(String(unit));
    const words = partInWords(String(part));
    return { topic, text: `${name}${words && `: ${words}`} ${operation}d` };
  },
  [MESSAGES.changeFailed]: ({ unit, part, operation }) => {
    const { topic, name } = parseUnit(String(unit));
    const words = partInWords(String(part));
    return { topic: "failed", text: `${topic} ${name}: could not ${operation} ${words || "it"}`, isProblem: true };
  },
  [MESSAGES.unitFailed]: ({ unit, message }) => {
    const { topic, name } = parseUnit(String(unit));
    return { topic: "failed", text: `${topic} ${name}: ${message}`, isProblem: true };
  },
  [MESSAGES.serviceReady]: ({ service, ingress }) => ({
    topic: "service",
    text: `${service} is reachable at ${list(ingress)}`,
  }),
  [MESSAGES.serviceReleased]: ({ service }) => ({ topic: "service", text: `${service}: finalizer removed` }),
  [MESSAGES.runFinished]: ({ durationMs }) => ({
    topic: "pulumi",
    text: `run finished in ${(Number(durationMs) / 1000).toFixed(1)} s`,
  }),
  [MESSAGES.waitsForApproval]: ({ units }) => {
    const names = (Array.isArray(units) ? units.map(String) : [])
      .map(parseUnit)
      .map(({ topic, name }) => `${topic} ${name}`);
    const changes = `${count(names.length, "change")} ${names.length === 1 ? "waits" : "wait"} for approval`;
    return { topic: "approval", text: `${changes}: ${names.join(", ")}; review with: lotse approve` };
  },
};

/** Warnings that are mere advice, by the reason of their Event. */
const NOTES: ReadonlySet<unknown> = new Set(["LoadBalancerTypeUnconfigured"]);

/** The line for a record. Absent for records that only matter to developers; warnings and errors always get one. */
export function narrate(record: LogRecord): Line | undefined {
  const line = NARRATORS[record.msg]?.(record);
  if (line || record.level < LEVEL.warn) return line;
  const { object, service, node, reason, msg, error } = record;
  const text = `${object ?? service ?? node ?? "controller"}: ${msg}${error === undefined ? "" : `: ${error}`}`;
  if (NOTES.has(reason)) return { topic: "note", text };
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
