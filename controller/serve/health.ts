/** Responses of the health endpoints, from named checks. */
import type { Exchange } from "../hcloud/sender.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";
import type { NoteCheck } from "./slis.ts";

/** A named health check. */
export interface Check {
  readonly name: string;
  /** Undefined when healthy; otherwise the reason, without confidential details. */
  readonly look: () => string | undefined;
}

/** Lists of checks by endpoint, e.g. `readyz`. */
export type Checks = Readonly<Record<string, readonly Check[]>>;

/** Response of a health endpoint. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Whether a path is a health endpoint, or one of its checks. */
export function isHealthPath(path: string, checks: Checks): boolean {
  const [root, endpoint = "", name, ...rest] = path.split("/");
  const all = Object.hasOwn(checks, endpoint) ? checks[endpoint] : undefined;
  if (root !== "" || !all || rest.length > 0) return false;
  return name === undefined || all.some((check) => check.name === name);
}

/** `?verbose` also lists healthy checks, `?exclude=name` skips some, and `/readyz/name` runs a single one. */
export function answerHealth(
  path: string,
  query: URLSearchParams,
  { checks, note }: { readonly checks: Checks; readonly note?: NoteCheck },
): Answer | undefined {
  const [, endpoint = "", name] = path.split("/");
  const all = Object.hasOwn(checks, endpoint) ? checks[endpoint] : undefined;
  const asked = name === undefined ? all : all?.filter((check) => check.name === name);
  if (!asked || (name !== undefined && asked.length === 0)) return undefined;
  const excluded = new Set(query.getAll("exclude"));
  const looked = asked
    .filter((check) => !excluded.has(check.name))
    .map((check) => ({ ...check, reason: check.look() }));
  for (const check of looked) note?.(endpoint, check.name, check.reason === undefined);
  const isFine = looked.every(({ reason }) => reason === undefined);
  if (isFine && !query.has("verbose")) return { status: 200, body: "ok" };
  const lines = looked.map((check) =>
    check.reason === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: ${check.reason}`,
  );
  const verdict = `${endpoint} check ${isFine ? "passed" : "failed"}`;
  return { status: isFine ? 200 : 500, body: `${[...lines, verdict].join("\n")}\n` };
}

/** After this long without a success, the API counts as unreachable. */
const UNREACHABLE_MS = 30_000;

/** Whether the Hetzner API responds and accepts the token, judged by the requests of the gateway. */
export class CloudContact {
  readonly #now: () => number;
  #failingSince: number | undefined;
  #isRefused = false;

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
  }

  note({ status }: Pick<Exchange, "status">): void {
    this.#isRefused = status === 401 || status === 403;
    const isFine = status > 0 && status < 500;
    this.#failingSince = isFine ? undefined : (this.#failingSince ?? this.#now());
  }

  readonly look = (): string | undefined => {
    if (this.#isRefused) return "the Hetzner API rejects the token";
    const isAway = this.#failingSince !== undefined && this.#now() - this.#failingSince >= UNREACHABLE_MS;
    return isAway ? "the Hetzner API does not respond" : undefined;
  };
}
