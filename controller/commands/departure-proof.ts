/** Proof that a Service has nothing in the cloud any more: a list may lack what is there. */
import type { V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../stacks/names.ts";
import { Absence } from "../cluster/absence.ts";
import type { Desired } from "../cluster/desired.ts";
import type { CloudReader } from "../hcloud/reader.ts";
import type { Departure } from "./departure.ts";

/** Something in the cloud that was a Service's when it was listed. */
interface Possession {
  readonly kind: "load_balancer" | "certificate";
  readonly id: number;
  readonly name: string;
  readonly uid: string;
}

/**
 * | balancer or certificate | proof |
 * | --- | --- |
 * | was listed, and is not any more | a read of it alone, which says that there is none, or that it has no owner |
 * | was never listed | half a minute in which it did not appear: the controller may have asked for it just before it ended |
 */
export class DepartureProof {
  readonly #reader: Pick<CloudReader, "labels">;
  readonly #absence: Absence;
  readonly #seen = new Map<string, Possession>();
  #listed: ReadonlySet<string> = new Set();

  constructor(reader: Pick<CloudReader, "labels">, absence = new Absence()) {
    this.#reader = reader;
    this.#absence = absence;
  }

  /** Takes note of what is listed. */
  observe({ desired }: Pick<Departure, "desired">): void {
    this.#absence.observe(desired);
    const found = new Map(possessionsOf(desired).map((one) => [`${one.kind} ${one.id}`, one]));
    this.#listed = new Set(found.keys());
    for (const [key, one] of found) this.#seen.set(key, one);
  }

  /** How long it takes until the absence of balancers that were never listed proves something, in milliseconds. */
  waitMs({ desired, services }: Pick<Departure, "desired" | "services">): number {
    const units = new Map(desired.services.map(({ service, unit }) => [service.metadata?.uid, unit]));
    const unproven = this.#absence.unproven(desired);
    const known = new Set(
      [...this.#seen.values()].filter(({ kind }) => kind === "load_balancer").map(({ uid }) => uid),
    );
    const waits = services.map(({ metadata }) => {
      const unit = known.has(metadata?.uid ?? "") ? undefined : units.get(metadata?.uid);
      return (unit && unproven.get(unit)) ?? 0;
    });
    return Math.max(0, ...waits);
  }

  /** What is still a Service's although no list shows it any more; nothing is the proof. */
  async leftOf({ metadata }: V1Service): Promise<readonly string[]> {
    const missing = [...this.#seen].filter(([key, { uid }]) => uid === metadata?.uid && !this.#listed.has(key));
    const left = missing.map(async ([, { kind, id, name, uid }]) => {
      const labels = await this.#reader.labels(kind, id);
      if (labels?.[SERVICE_UID_LABEL] !== uid) return [];
      return [`${kind.replace("load_", "")} ${name} (id ${id}) is still there, but the API does not list it`];
    });
    return (await Promise.all(left)).flat();
  }
}

function possessionsOf({ services, present }: Desired): readonly Possession[] {
  return services.flatMap((wish) => {
    const uid = wish.service.metadata?.uid ?? "";
    const state = present[wish.unit];
    const balancers = state?.kind === "load-balancer" ? [state] : [];
    const certificates = wish.kind === "refused" ? [] : wish.certificates.owned.map(({ listed }) => listed);
    return [
      ...balancers.map(({ id, name }) => ({ kind: "load_balancer", id, name, uid }) as const),
      ...certificates.map(({ id, name }) => ({ kind: "certificate", id, name, uid }) as const),
    ];
  });
}
