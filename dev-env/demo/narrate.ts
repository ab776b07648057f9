/** The controller's log records as lines for somebody who watches. */

/** One record of the controller's log, as far as the story needs it. */
export interface LogRecord {
  readonly msg: string;
  readonly level: number;
  readonly [field: string]: unknown;
}

/** What a record tells: who it is about, and what happened. */
export interface Line {
  readonly topic: string;
  readonly text: string;
  readonly isTrouble?: boolean;
}

/** Level from which pino's records mean that somebody should look. */
const WARN = 40;

type Teller = (record: LogRecord) => Line | undefined;

const TELLERS: Readonly<Record<string, Teller>> = {
  "controller running": ({ nodes, services }) => ({
    topic: "controller",
    text: `running; sees ${nodes} nodes and ${services} Services`,
  }),
  "node initialised": ({ node }) => ({
    topic: "node",
    text: `${node} initialised: providerID, labels and addresses set, taint gone`,
  }),
  "node updated": ({ node, fields }) => ({ topic: "node", text: `${node} updated: ${list(fields)}` }),
  "cloud changed": ({ unit, part, operation }) => tellChange(String(unit), String(part), String(operation)),
  "service has its load balancer": ({ service, ingress }) => ({
    topic: "service",
    text: `${service} is reachable at ${list(ingress)}`,
  }),
  "finalizer removed": ({ service }) => ({ topic: "service", text: `${service} released, its balancer is gone` }),
  "run finished": ({ units, durationMs }) => ({
    topic: "pulumi",
    text: `run finished: ${units} units in ${seconds(durationMs)}`,
  }),
};

/** The line for a record; nothing for records that only matter to developers. Trouble is always told. */
export function narrate(record: LogRecord): Line | undefined {
  const line = TELLERS[record.msg]?.(record);
  if (line) return line;
  if (record.level < WARN) return undefined;
  const about = record.error ?? record.message;
  return { topic: "trouble", text: about ? `${record.msg}: ${about}` : record.msg, isTrouble: true };
}

function tellChange(unit: string, part: string, operation: string): Line {
  const done = operation === "create" ? "created" : operation === "delete" ? "deleted" : `${operation}d`;
  if (unit.startsWith("route/")) return { topic: "route", text: `${unit.slice("route/".length)} ${done}` };
  const service = unit.replace(/^load-balancer\//, "").replace(/@.*$/, "");
  return { topic: "balancer", text: `${service}: ${part} ${done}` };
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function seconds(ms: unknown): string {
  return `${(Number(ms) / 1000).toFixed(1)} s`;
}
