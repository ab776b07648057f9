/**
 * What a run can do at once. The engine makes new things before it takes old ones away, and changes a balancer before what
 * is on it; some changes need it the other way round. They are made in two runs: the first leaves out what has no room yet.
 */
import { isPrivate } from "../../../stacks/units/inputs.ts";
import { targetPart } from "../../../stacks/units/names.ts";
import type { ListenerSpec, LoadBalancerSpec, LoadBalancerState } from "../../../stacks/units/spec.ts";
import type { Limits } from "./checks/limits.ts";

/** What there is besides the Service's, and how much may be there. */
export interface Room {
  readonly limits?: Limits;
  /** Limits of the type that the balancer has now. */
  readonly presentLimits?: Limits;
  readonly foreignListeners: number;
  readonly foreignTargets: number;
}

/** The next step on the way from what is there to what is wanted; what is wanted, when that takes one step. */
export function nextStage(spec: LoadBalancerSpec, existing: LoadBalancerState, room: Room): LoadBalancerSpec {
  const type = fits(existing, room) ? spec.type : existing.type;
  const limits = type === spec.type ? room.limits : room.presentLimits;
  const listeners = (limits?.listeners ?? Number.POSITIVE_INFINITY) - room.foreignListeners;
  const targets = (limits?.targets ?? Number.POSITIVE_INFINITY) - room.foreignTargets;
  const network = spec.network && {
    ...spec.network,
    publicInterface: spec.network.publicInterface || (existing.publicInterface && !existing.targets.every(isPrivate)),
  };
  return {
    ...spec,
    type,
    ...(network && { network }),
    listeners: keepApart(
      withinRoom(spec.listeners, existing.listeners, listeners, ({ listenPort }) => String(listenPort)),
      existing.listeners,
    ),
    targets: withinRoom(spec.targets, existing.targets, targets, targetPart),
  };
}

/** A smaller type is taken when everything has left that would not fit. */
function fits({ listeners, targets }: LoadBalancerState, { limits, foreignListeners, foreignTargets }: Room): boolean {
  return (
    !limits ||
    (listeners.length + foreignListeners <= limits.listeners && targets.length + foreignTargets <= limits.targets)
  );
}

/** What is there stays as wanted; new ones come as far as there is room before the old ones have left. */
function withinRoom<T>(
  wanted: readonly T[],
  existing: readonly T[],
  room: number,
  keyOf: (one: T) => string,
): readonly T[] {
  const there = new Set(existing.map(keyOf));
  let free = room - there.size;
  return wanted.filter((one) => there.has(keyOf(one)) || free-- > 0);
}

/** A redirect occupies port 80: it comes when the listener there has left, and the other way round. */
function keepApart(wanted: readonly ListenerSpec[], existing: readonly ListenerSpec[]): readonly ListenerSpec[] {
  const hasPlain = existing.some(({ listenPort }) => listenPort === 80);
  const hasRedirect = existing.some(({ http }) => http?.redirectHttp);
  return wanted
    .filter(({ listenPort }) => listenPort !== 80 || hasPlain || !hasRedirect)
    .map((listener) =>
      hasPlain && listener.http?.redirectHttp
        ? { ...listener, http: { ...listener.http, redirectHttp: false } }
        : listener,
    );
}
