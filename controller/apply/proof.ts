/** Proof by the cloud's lists: what a run really did, and whether a load balancer or certificate is really gone. */
import type { Change, RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import { describeField, differences } from "../../stacks/units/difference.ts";
import { SERVICE_UID_LABEL, serviceKeyOf } from "../../stacks/units/names.ts";
import type { CertificateState, LoadBalancerState, UnitId } from "../../stacks/units/spec.ts";
import { messageOf } from "../diagnostics/errors.ts";
import type { Plan, PlannedUnit, Situation } from "../guard/plan.ts";
import type { CloudReader } from "../hcloud/reader.ts";
import type { Rendered } from "../render/cluster.ts";
import type { ServiceIntent } from "../render/intents.ts";
import { TIMINGS } from "../work/timings.ts";

type Outcomes = RunReport["outcomes"];

/**
 * Corrects the engine's outcomes: a unit that still differs was not applied; one that no longer differs was, even if the
 * run failed later. A success is not judged by changes that were requested in the meantime.
 */
export function proven(outcomes: Outcomes, due: Plan, { rendered, plan }: Situation): Outcomes {
  const planned = new Set(plan.map(({ unit }) => unit));
  const check = (step: PlannedUnit): readonly [string, UnitOutcome][] => {
    const outcome = outcomes[step.unit];
    if (!outcome) return [];
    const { changes } = outcome;
    const left = planned.has(step.unit) || outcome.status === "failed" ? leftOf(step, rendered) : [];
    if (left.length === 0) return [[step.unit, { status: "applied", changes }]];
    if (outcome.status === "failed") return [[step.unit, outcome]];
    const message = `the run succeeded, but the Hetzner API does not show the change: ${left.map(describeField).join(", ")}`;
    return [[step.unit, { status: "failed", changes, failure: { code: "not-converged", message, retry: "soon" } }]];
  };
  return Object.fromEntries(due.flatMap(check));
}

function leftOf(step: PlannedUnit, { existing }: Rendered): PlannedUnit["differences"] {
  const state = existing[step.unit];
  if (step.kind === "make") return differences(step.spec, state);
  return state ? step.differences : [];
}

/**
 * Failures after which the API may still carry out a request, or has done so: it did not say that it refused. The plugin
 * repeats a creation without a response; if that took effect after all, its own name is then in use.
 */
const UNANSWERED = new Set([
  "uniqueness_error",
  "unavailable",
  "timeout",
  "bad_gateway",
  "server_error",
  "unexpected",
  "engine",
  "plugin",
  "deadline",
  "worker-died",
]);

/** A unit is gone when one of these parts is deleted. */
const MAIN_PARTS = new Set(["balancer", "certificate"]);

/** What a Service owns in the cloud. */
type Possession = LoadBalancerState | CertificateState;

/** What is remembered of a unit: that it was listed, and when its creation was last requested. Neither: it is gone. */
interface Trace {
  readonly known?: Possession;
  readonly askedAt?: number;
}

/** A retired Service that may still own something in the cloud. */
export interface Doubt {
  readonly intent: ServiceIntent;
  /** Time until the next check. */
  readonly waitMs: number;
  /** What exists although it is not listed, for logs; empty while a creation may still be in progress. */
  readonly left: readonly string[];
}

/**
 * A killed controller or a request without a response may have left a creation in progress, and a list may be incomplete.
 * Removing a Service's finalizer too early would leave a load balancer or certificate without an owner.
 *
 * | listed | history | verdict |
 * | --- | --- | --- |
 * | yes | – | exists |
 * | no | a run deleted it | gone |
 * | no | was listed before | gone when a direct read finds nothing, or nothing that belongs to this Service; not made again before |
 * | no | never listed, or created since, also without a response | gone 30 s after the start, or after that request |
 */
export class Absence {
  readonly #cloud: Pick<CloudReader, "labels">;
  readonly #now: () => number;
  readonly #traces = new Map<UnitId, Trace>();
  #startedAt: number | undefined;

  constructor(cloud: Pick<CloudReader, "labels">, now: () => number = () => performance.now()) {
    this.#cloud = cloud;
    this.#now = now;
  }

  /** Remembers what is listed. */
  observe(rendered: Rendered): void {
    this.#startedAt ??= this.#now();
    for (const [unit, known] of possessionsIn(rendered)) this.#traces.set(unit, { known });
    const services = new Set(rendered.services.map(({ unit }) => serviceKeyOf(unit)));
    for (const unit of this.#traces.keys()) if (!services.has(serviceKeyOf(unit))) this.#traces.delete(unit);
  }

  /** Remembers that a run deleted a unit, or created it, or that its creation may still be in progress. */
  learn({ kind, unit }: PlannedUnit, outcome: UnitOutcome | undefined): void {
    const has = (wanted: Change["operation"]) =>
      outcome?.changes.some(({ operation, part }) => operation === wanted && MAIN_PARTS.has(part));
    if (kind === "remove" && has("delete")) this.#traces.set(unit, {});
    const isUnanswered = outcome?.status === "failed" && UNANSWERED.has(outcome.failure.code);
    // A list may lack what has just been created, also by an action that outlasts its run: then there is no outcome.
    const isUnlisted = (!outcome || has("create")) && !this.#traces.get(unit)?.known;
    if (kind === "make" && (isUnanswered || isUnlisted))
      this.#traces.set(unit, { ...this.#traces.get(unit), askedAt: this.#now() });
  }

  /**
   * Units to be made or adopted that still exist otherwise, or may, although that is not listed, each with an explanation. There
   * would be two of them. The first that does shows that its list is incomplete: what else the list lacks is not read, because
   * that would cost a request for each.
   */
  async unlisted({ rendered, plan }: Pick<Situation, "rendered" | "plan">): Promise<ReadonlyMap<UnitId, string>> {
    const intents = new Map(rendered.services.map((intent) => [serviceKeyOf(intent.unit), intent]));
    const listed = new Set(possessionsIn(rendered).map(([, possession]) => identityOf(possession)));
    const found = new Map<UnitId, string>();
    const incomplete = new Set<Possession["kind"]>();
    for (const { kind, unit } of plan) {
      const { known, ...trace } = this.#traces.get(unit) ?? {};
      const intent = intents.get(serviceKeyOf(unit));
      if (kind !== "make" || !known || !intent || listed.has(identityOf(known))) continue;
      const isRead = !incomplete.has(known.kind);
      const left = isRead ? await this.#find(known, intent) : "it may still exist: the list also lacks others that do";
      if (left === undefined) this.#traces.set(unit, trace);
      else found.set(unit, left);
      if (left !== undefined) incomplete.add(known.kind);
    }
    return found;
  }

  /** Retired Services that may still own something. Reads from the API where the lists are not proof enough. */
  async unproven(rendered: Rendered): Promise<readonly Doubt[]> {
    const listed = new Set(possessionsIn(rendered).map(([, known]) => identityOf(known)));
    const retired = rendered.services.filter(({ kind }) => kind === "retire");
    return (await Promise.all(retired.map((intent) => this.#doubtsOf(intent, listed)))).flat();
  }

  async #doubtsOf(intent: ServiceIntent, listed: ReadonlySet<string>): Promise<readonly Doubt[]> {
    // A load balancer without history may have been requested just before the start.
    const traces = new Map<UnitId, Trace>([
      [intent.unit, { askedAt: this.#startedAt ?? this.#now() }],
      ...this.#traces,
    ]);
    const absent = [...traces].filter(
      ([unit, { known }]) =>
        serviceKeyOf(unit) === serviceKeyOf(intent.unit) && !(known && listed.has(identityOf(known))),
    );
    const waitMs = Math.max(...absent.flatMap(([, { askedAt }]) => askedAt ?? [])) + TIMINGS.absence - this.#now();
    if (waitMs > 0) return [{ intent, waitMs, left: [] }];
    const left: string[] = [];
    for (const [unit, { known }] of absent) {
      const found = known && (await this.#find(known, intent));
      if (found === undefined) this.#traces.set(unit, {});
      else left.push(found);
    }
    return left.length > 0 ? [{ intent, waitMs: TIMINGS.absence, left }] : [];
  }

  /** Reads it directly. Undefined when it is gone or no longer belongs to the Service. */
  async #find({ kind, id, name }: Possession, { service }: ServiceIntent): Promise<string | undefined> {
    const what = `${kind.replace("-", " ")} ${name} (id ${id})`;
    try {
      const labels = await this.#cloud.labels(kind === "certificate" ? kind : "load_balancer", id);
      const isOwned = labels !== undefined && labels[SERVICE_UID_LABEL] === service.metadata?.uid;
      return isOwned ? `${what} still exists, but the API does not list it` : undefined;
    } catch (error) {
      return `${what} cannot be read: ${messageOf(error)}`;
    }
  }
}

/** Not what is yet to be adopted. */
function possessionsIn({ existing, services }: Rendered): readonly (readonly [UnitId, Possession])[] {
  const adoptions = new Set(
    services.flatMap((intent) => (intent.kind === "balance" && intent.adopts !== undefined ? intent.unit : [])),
  );
  return (Object.keys(existing) as UnitId[]).flatMap((unit) => {
    const state = existing[unit];
    return state && state.kind !== "route" && !adoptions.has(unit) ? [[unit, state] as const] : [];
  });
}

function identityOf({ kind, id }: Possession): string {
  return `${kind} ${id}`;
}
