/** When something of a Service that no list shows is known to be gone. */

import type { UnitOutcome } from "../../stacks/engine/run.ts";
import { SERVICE_UID_LABEL, serviceKeyOf } from "../../stacks/units/names.ts";
import type { CertificateState, LoadBalancerState, UnitId } from "../../stacks/units/spec.ts";
import { messageOf } from "../diagnostics/errors.ts";
import type { PlannedUnit } from "../guard/plan.ts";
import type { CloudReader } from "../hcloud/reader.ts";
import type { Rendered } from "../render/cluster.ts";
import type { ServiceIntent } from "../render/intents.ts";
import { TIMINGS } from "../work/timings.ts";

/** Failures that leave open whether the API did what it was asked for. */
const UNANSWERED = new Set(["unavailable", "timeout", "bad_gateway"]);

/** The parts without which nothing is left of a unit. */
const MAIN_PARTS = new Set(["balancer", "certificate"]);

/** What a Service has in the cloud. */
type Possession = LoadBalancerState | CertificateState;

/** What is remembered of a unit: that it was listed, and when it was asked for without an answer. Neither means gone. */
interface Trace {
  readonly known?: Possession;
  readonly askedAt?: number;
}

/** A Service that goes although something of it may still be in the cloud. */
export interface Doubt {
  readonly intent: ServiceIntent;
  /** Another look is worth it after this long. */
  readonly waitMs: number;
  /** What is there although no list shows it, in words; empty while something may only be on its way. */
  readonly left: readonly string[];
}

/**
 * A killed controller, or an API that did not answer, may have left a creation on its way; and a list may lack what is
 * there. A Service let go on such a list would leave its balancer or a certificate without an owner.
 *
 * | listed | what is known of it | then |
 * | --- | --- | --- |
 * | yes | – | there |
 * | no | a run said that it deleted it | gone |
 * | no | it was listed | gone when a read of it alone finds nothing, or nothing that is this Service's |
 * | no | it was never listed, or its creation was not answered | gone 30 s after the start, or after that request |
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

  /** Takes note of what is listed. */
  observe(rendered: Rendered): void {
    this.#startedAt ??= this.#now();
    for (const [unit, known] of possessionsIn(rendered)) this.#traces.set(unit, { known });
    const services = new Set(rendered.services.map(({ unit }) => serviceKeyOf(unit)));
    for (const unit of this.#traces.keys()) if (!services.has(serviceKeyOf(unit))) this.#traces.delete(unit);
  }

  /** Takes note of what a run says of a unit: that it was deleted, or that its creation may still be on its way. */
  learn({ kind, unit }: PlannedUnit, outcome: UnitOutcome | undefined): void {
    const isDeleted = outcome?.changes.some(({ operation, part }) => operation === "delete" && MAIN_PARTS.has(part));
    if (kind === "remove" && isDeleted) this.#traces.set(unit, {});
    const isUnanswered = outcome?.status === "failed" && UNANSWERED.has(outcome.failure.code);
    if (kind === "make" && isUnanswered) this.#traces.set(unit, { ...this.#traces.get(unit), askedAt: this.#now() });
  }

  /** Services that go without proof that nothing of theirs is left. The API is asked where only a read can tell. */
  async unproven(rendered: Rendered): Promise<readonly Doubt[]> {
    const listed = new Set(possessionsIn(rendered).map(([, known]) => identityOf(known)));
    const going = rendered.services.filter(({ kind }) => kind === "retire");
    return (await Promise.all(going.map((intent) => this.#doubtsOf(intent, listed)))).flat();
  }

  async #doubtsOf(intent: ServiceIntent, listed: ReadonlySet<string>): Promise<readonly Doubt[]> {
    // A balancer of which nothing is known may have been asked for just before the start.
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

  /** What a read of it alone says, in words; nothing when it is gone, or is the Service's no longer. */
  async #find({ kind, id, name }: Possession, { service }: ServiceIntent): Promise<string | undefined> {
    const what = `${kind.replace("-", " ")} ${name} (id ${id})`;
    try {
      const labels = await this.#cloud.labels(kind === "certificate" ? kind : "load_balancer", id);
      const isTheirs = labels !== undefined && labels[SERVICE_UID_LABEL] === service.metadata?.uid;
      return isTheirs ? `${what} still exists, but the API does not list it` : undefined;
    } catch (error) {
      return `${what} cannot be read: ${messageOf(error)}`;
    }
  }
}

function possessionsIn({ existing }: Rendered): readonly (readonly [UnitId, Possession])[] {
  return (Object.keys(existing) as UnitId[]).flatMap((unit) => {
    const state = existing[unit];
    return state && state.kind !== "route" ? [[unit, state] as const] : [];
  });
}

function identityOf({ kind, id }: Possession): string {
  return `${kind} ${id}`;
}
