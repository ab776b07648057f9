/** Slows down Services that keep changing what they ask for, even when every run succeeds: each change costs requests. */
import { isDeepStrictEqual } from "node:util";
import type { V1Service } from "@kubernetes/client-node";
import { serviceKeyOf } from "../../stacks/units/names.ts";
import type { ServiceIntent } from "../render/intents.ts";
import { PREFIX } from "../render/service/options/annotations.ts";
import { serviceName } from "../render/service/ours.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";
import { TIMINGS } from "../work/timings.ts";

/** Changes of a Service that take effect at once. */
const BURST = 5;
/** Further changes that take effect in a window, for all Services of a namespace together. */
const MOST_IN_WINDOW = 3;

interface Entry {
  /** The Service as it last took effect. */
  readonly service: V1Service;
  /** Changes that took effect since the Service was last calm. */
  readonly changes: number;
  readonly at: number;
  /** Later changes take effect at this time. */
  readonly until: number;
}

/** Whether a Service asks for the same as before: the same object, our annotations, and spec. */
export function asksTheSame(a: V1Service, b: V1Service): boolean {
  return a === b || isDeepStrictEqual(wishOf(a), wishOf(b));
}

function wishOf({ metadata, spec }: V1Service) {
  const ours = Object.entries(metadata?.annotations ?? {}).filter(([key]) => key.startsWith(PREFIX));
  return [metadata?.uid, Object.fromEntries(ours), spec];
}

/**
 * Lets the first changes of a Service through, and then one at growing intervals until it is calm; of all such Services in a
 * namespace, only a few per window. A Service is known by its name, so that deleting and recreating it is a change as well.
 */
export class Pace {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;
  /** End of the current window, and changes of restless Services in it, by namespace. */
  #window = 0;
  readonly #inWindow = new Map<string, number>();

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
  }

  /** Keys of the Services whose changes must wait. The others take effect as they are now. */
  holdBack(services: readonly Pick<ServiceIntent, "service" | "unit">[]): ReadonlySet<string> {
    return new Set(services.flatMap(({ service, unit }) => (this.#admits(service) ? [] : [serviceKeyOf(unit)])));
  }

  #admits(service: V1Service): boolean {
    const now = this.#now();
    const before = this.#entries.get(serviceName(service));
    if (before?.service === service) return true;
    if (before && asksTheSame(before.service, service)) {
      // It may have changed and changed back: then it is as restless as before.
      const isRestless = before.changes >= BURST && now >= before.until;
      const until = isRestless ? inStep(now + pauseAfter(before.changes), TIMINGS.pace.step) : before.until;
      this.#entries.set(serviceName(service), { ...before, service, until });
      return true;
    }
    if (before && now < before.until) return false;
    const changes = before && now - before.at < TIMINGS.pace.calm ? before.changes + 1 : 1;
    if (before && changes > BURST && !this.#hasRoom(service)) {
      this.#entries.set(serviceName(service), { ...before, until: inStep(now + 1, TIMINGS.pace.window) });
      return false;
    }
    const until = changes < BURST ? now : inStep(now + pauseAfter(changes), TIMINGS.pace.step);
    this.#entries.set(serviceName(service), { service, changes, at: now, until });
    return true;
  }

  /** Counts a change of a restless Service against its namespace, unless the window is full. */
  #hasRoom({ metadata }: V1Service): boolean {
    const window = inStep(this.#now() + 1, TIMINGS.pace.window);
    if (window !== this.#window) this.#inWindow.clear();
    this.#window = window;
    const count = (this.#inWindow.get(metadata?.namespace ?? "") ?? 0) + 1;
    if (count <= MOST_IN_WINDOW) this.#inWindow.set(metadata?.namespace ?? "", count);
    return count <= MOST_IN_WINDOW;
  }

  /** Whether a change of this Service need not be looked at before `nextMs`. */
  isHeld(service: V1Service): boolean {
    return this.#now() < (this.#entries.get(serviceName(service))?.until ?? 0);
  }

  /** Milliseconds until changes that were held may take effect; undefined when none are. */
  get nextMs(): number | undefined {
    const now = this.#now();
    for (const [name, { at }] of this.#entries) if (now - at > TIMINGS.pace.calm) this.#entries.delete(name);
    const waits = [...this.#entries.values()].flatMap(({ until }) => (until > now ? [until - now] : []));
    return waits.length > 0 ? Math.min(...waits) : undefined;
  }
}

function pauseAfter(changes: number): number {
  const { first, most } = TIMINGS.pace;
  return Math.min(first * 2 ** (changes - BURST), most);
}

/** Rounds up, so that one turn serves all Services that wait. */
function inStep(time: number, step: number): number {
  return Math.ceil(time / step) * step;
}
