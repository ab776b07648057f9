/** Health endpoints: responses from named checks, and metrics of the checks. */
import { Counter, Gauge, Registry } from "prom-client";
import type { Exchange } from "../hcloud/sender.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";

/** A named health check. */
export interface Check {
  readonly name: string;
  /** Undefined when healthy; otherwise the reason, without confidential details. */
  readonly look: () => string | undefined;
}

/** Lists of checks by endpoint, e.g. `readyz`. */
export type Checks = Readonly<Record<string, readonly Check[]>>;

/** Response of an endpoint. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Content type, by default plain text. */
  readonly type?: string;
}

/** Called with the result of every health check. */
type NoteCheck = (endpoint: string, name: string, isFine: boolean) => void;

/** The checks that a path asks for: all of an endpoint, or one (`/readyz/name`). Undefined when there are none. */
export function checksAt(path: string, checks: Checks): readonly Check[] | undefined {
  const [root, endpoint = "", name, ...rest] = path.split("/");
  if (root !== "" || rest.length > 0 || !Object.hasOwn(checks, endpoint)) return undefined;
  const asked = checks[endpoint]?.filter((check) => name === undefined || check.name === name);
  return asked?.length ? asked : undefined;
}

/** `?verbose` also lists healthy checks, `?exclude=name` skips some. Undefined for paths without checks. */
export function answerHealth(
  path: string,
  query: URLSearchParams,
  { checks, note }: { readonly checks: Checks; readonly note?: NoteCheck },
): Answer | undefined {
  const [, endpoint = ""] = path.split("/");
  const excluded = new Set(query.getAll("exclude"));
  const looked = checksAt(path, checks)
    ?.filter((check) => !excluded.has(check.name))
    .map((check) => ({ ...check, reason: check.look() }));
  if (!looked) return undefined;
  for (const check of looked) note?.(endpoint, check.name, check.reason === undefined);
  const isFine = looked.every(({ reason }) => reason === undefined);
  if (isFine && !query.has("verbose")) return { status: 200, body: "ok" };
  const lines = looked.map((check) =>
    check.reason === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: ${check.reason}`,
  );
  const verdict = `${endpoint} check ${isFine ? "passed" : "failed"}`;
  return { status: isFine ? 200 : 500, body: `${[...lines, verdict].join("\n")}\n` };
}

/** Metrics of health checks, named as in all Kubernetes components. */
export function openIndicators(): { readonly registry: Registry; readonly note: NoteCheck } {
  const registry = new Registry();
  const registers = [registry];
  const last = new Gauge({
    name: "kubernetes_healthcheck",
    help: "Result of the latest run of a health check: 1 for success.",
    labelNames: ["name", "type"],
    registers,
  });
  const total = new Counter({
    name: "kubernetes_healthchecks_total",
    help: "Health checks by result.",
    labelNames: ["name", "type", "status"],
    registers,
  });
  const note: NoteCheck = (type, name, isFine) => {
    last.set({ name, type }, isFine ? 1 : 0);
    total.inc({ name, type, status: isFine ? "success" : "error" });
  };
  return { registry, note };
}

/** After this long without a success, the API counts as unreachable. */
const UNREACHABLE_MS = 30_000;

/** Why a request may be forbidden although the API accepts the token. */
const OTHER_REFUSALS: ReadonlySet<string> = new Set(["resource_limit_exceeded", "maintenance"]);

/** Whether the Hetzner API responds and accepts the token, judged by the requests of the gateway. */
export class CloudContact {
  readonly #now: () => number;
  #failingSince: number | undefined;
  #isRefused = false;

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
  }

  note({ status, error }: Pick<Exchange, "status" | "error">): void {
    this.#isRefused = status === 401 || (status === 403 && !OTHER_REFUSALS.has(error?.code ?? ""));
    const isFine = status > 0 && status < 500;
    this.#failingSince = isFine ? undefined : (this.#failingSince ?? this.#now());
  }

  readonly look = (): string | undefined => {
    if (this.#isRefused) return "the Hetzner API rejects the token";
    const isAway = this.#failingSince !== undefined && this.#now() - this.#failingSince >= UNREACHABLE_MS;
    return isAway ? "the Hetzner API does not respond" : undefined;
  };
}
