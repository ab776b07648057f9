/** Replays recorded exchanges against the simulator, and says where it is unfaithful. */
import { apiErrorOf, endpointOf, isRead } from "../../controller/hcloud/exchange.ts";
import { startCloud } from "../../dev-env/cloud/cloud.ts";
import { aPair } from "../support/certificates.ts";
import { compare, ID_FIELDS, Names } from "./compare.ts";
import type { Recorded } from "./recording.ts";

/** Refusals that depend on the time of the request. They are not repeated. */
const TRANSIENT: ReadonlySet<string> = new Set([
  "conflict",
  "locked",
  "rate_limit_exceeded",
  "service_error",
  "unavailable",
  "timeout",
  "unexpected",
]);
/** Lists of products and prices, which the simulator has only some of. */
const CATALOGUE = /^\/(pricing|locations|.*_types|images|isos)\b/;
/** How long an action without an end keeps reads from being compared. */
const ACTION_MS = 30_000;

/** A difference occurs once, however many requests show it: `GET /servers: servers[].name: …`. */
export async function replay(recording: readonly Recorded[]): Promise<readonly string[]> {
  const cloud = await startCloud({ rateLimit: "off" });
  const names = new Names();
  const pair = aPair();
  const found = new Set<string>();
  try {
    for (const exchange of inOrder(recording)) {
      if (exchange.status >= 400 && TRANSIENT.has(codeOf(exchange))) continue;
      const { method } = exchange;
      const headers = { authorization: `Bearer ${cloud.token}`, "content-type": "application/json" };
      const body = exchange.sent === undefined ? {} : { body: JSON.stringify(translate(exchange.sent, names, pair)) };
      const response = await fetch(cloud.url + translatePath(exchange.path, names), { method, headers, ...body });
      const text = await response.text();
      if (!exchange.isQuiet || CATALOGUE.test(exchange.path)) continue;
      const answer = text === "" ? undefined : JSON.parse(text);
      for (const difference of differencesOf(exchange, { status: response.status, answer }, names)) {
        found.add(`${method} ${endpointOf(exchange.path)}: ${difference}`);
      }
    }
  } finally {
    await cloud.stop();
  }
  return [...found];
}

type Answer = Pick<Recorded, "status" | "answer">;

function differencesOf(recorded: Recorded, simulated: Answer, names: Names): readonly string[] {
  if (recorded.status !== simulated.status) {
    const outcome = (it: Answer) => `${it.status}${it.status >= 400 ? ` ${codeOf(it)}` : ""}`;
    return [`the API responds with ${outcome(recorded)}, the simulator with ${outcome(simulated)}`];
  }
  if (recorded.status < 400) return compare(recorded.answer, simulated.answer, names);
  // Texts of errors are for people.
  return codeOf(recorded) === codeOf(simulated)
    ? []
    : [`the error is ${codeOf(recorded)}, the simulator's ${codeOf(simulated)}`];
}

function codeOf({ status, answer }: Answer): string {
  return apiErrorOf({ status, headers: {}, body: JSON.stringify(answer ?? {}) }).code;
}

/**
 * The exchanges in the order of their effect. A read is quiet, and can be compared, if neither a write nor an action was under
 * way: the simulator's actions end at once.
 */
function inOrder(recording: readonly Recorded[]): readonly (Recorded & { readonly isQuiet: boolean })[] {
  const writes = recording.filter((it) => !isRead(it));
  const open = new Map<number, number>();
  return recording
    .toSorted((a, b) => a.endedMs - b.endedMs)
    .map((exchange) => {
      const { startedMs, endedMs } = exchange;
      const isAlone = writes.every((it) => it.endedMs < startedMs || it.startedMs > endedMs);
      const isSettled = open.values().every((since) => startedMs - since > ACTION_MS);
      for (const [id, isRunning] of actionsIn(exchange.answer)) {
        if (!isRunning) open.delete(id);
        else if (!isRead(exchange)) open.set(id, endedMs);
      }
      return { ...exchange, isQuiet: !isRead(exchange) || (isAlone && isSettled) };
    });
}

/** Ids of the actions in a response, and whether they are running. */
function actionsIn(value: unknown): readonly (readonly [number, boolean])[] {
  if (typeof value !== "object" || value === null) return [];
  const { id, command, status } = value as {
    readonly id?: unknown;
    readonly command?: unknown;
    readonly status?: unknown;
  };
  if (typeof id === "number" && typeof command === "string") return [[id, status === "running"]];
  return Object.values(value).flatMap(actionsIn);
}

/** A request body with the simulator's ids and addresses, and a key pair where one was removed. */
function translate(value: unknown, names: Names, pair: ReturnType<typeof aPair>): unknown {
  return JSON.parse(JSON.stringify(value), function replace(this: unknown, key, item: unknown) {
    if (item === "<certificate>") return pair.certificate;
    if (item === "<private_key>") return pair.privateKey;
    if (typeof item === "number") {
      return ID_FIELDS.has(key) || Array.isArray(this) ? Number(names.of(item) ?? item) : item;
    }
    return typeof item === "string" && /[.:]/.test(item) ? (names.of(item) ?? item) : item;
  });
}

function translatePath(path: string, names: Names): string {
  return path.replaceAll(/(?<=\/|[?&]id=)\d+/g, (id) => names.of(id) ?? id);
}
