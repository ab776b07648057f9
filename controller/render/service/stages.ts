/**
 * Stages: the engine creates new parts before it removes old ones, and changes a load balancer before its parts.
 * Changes that need the opposite order are made in two runs, of which the first leaves out what does not fit yet.
 */
import { targetPart } from "../../../stacks/units/names.ts";
import type { ListenerSpec, LoadBalancerSpec, LoadBalancerState, TargetSpec } from "../../../stacks/units/spec.ts";
import type { Limits } from "./cloud-checks.ts";

/** The limits of a load balancer, and how many foreign parts it has. */
export interface Room {
  readonly limits?: Limits | undefined;
  /** Limits of the current type. */
  readonly presentLimits?: Limits | undefined;
  readonly foreignListeners: number;
  readonly foreignTargets: number;
}

/** The next stage from the existing to the desired load balancer: the desired one if a single run suffices. */
export function nextStage(spec: LoadBalancerSpec, existing: LoadBalancerState, room: Room): LoadBalancerSpec {
  const type = fits(existing, room) ? spec.type : existing.type;
  const limits = type === spec.type ? room.limits : room.presentLimits;
  const listeners = (limits?.listeners ?? Number.POSITIVE_INFINITY) - room.foreignListeners;
  const targets = (limits?.targets ?? Number.POSITIVE_INFINITY) - room.foreignTargets;
  const network = spec.network && {
    ...spec.network,
    publicInterface: spec.network.publicInterface || (existing.publicInterface && existing.targets.some(isPublic)),
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

/** Whether a server is reached over the Internet. Addresses of dedicated servers never change their kind. */
function isPublic(target: TargetSpec): boolean {
  return target.kind === "server" && !target.usePrivateIp;
}

/** A smaller type is applied once the existing parts fit it. */
function fits({ listeners, targets }: LoadBalancerState, { limits, foreignListeners, foreignTargets }: Room): boolean {
  return (
    !limits ||
    (listeners.length + foreignListeners <= limits.listeners && targets.length + foreignTargets <= limits.targets)
  );
}

/** The wanted parts that exist, and as many new ones as fit beside the existing ones. */
function withinRoom<T>(wanted: readonly T[], existing: readonly T[], room: number, keyOf: (one: T) => string) {
  const there = new Set(existing.map(keyOf));
  let free = room - there.size;
  return wanted.filter((one) => there.has(keyOf(one)) || free-- > 0);
}

/** A redirect occupies port 80: it is added after a listener on that port is gone, and vice versa. */
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
