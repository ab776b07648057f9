/**
 * The part of a state that a run works on. A unit has a resource for every target, a cluster has many units, and a run
 * mostly changes a few of these: what is equal on both sides, and what belongs to other units, stays out of the engine's
 * sight. So a run costs what its changes cost, and what it does not see it cannot touch.
 */

import type { RunRequest } from "../engine/run.ts";
import { differences } from "../units/difference.ts";
import { listenerPart, targetPart, unitOf } from "../units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState, UnitId, UnitSpec, UnitState } from "../units/spec.ts";
import type { Checkpoint } from "./checkpoint.ts";

/** The request without other units, and without those parts of its balancers that are as wanted. The balancers stay. */
export function narrow(request: RunRequest): RunRequest {
  const existing: Partial<Record<UnitId, UnitState>> = {};
  for (const unit of request.removals) existing[unit] = request.existing[unit];
  const units = request.units.map((spec): UnitSpec => {
    const unit = unitOf(spec);
    const state = request.existing[unit];
    const isBalancer = spec.kind === "load-balancer" && state?.kind === "load-balancer";
    const narrowed = isBalancer ? narrowBalancer(spec, state) : { spec, state };
    existing[unit] = narrowed.state;
    return narrowed.spec;
  });
  return { ...request, units, existing };
}

function narrowBalancer(spec: LoadBalancerSpec, state: LoadBalancerState) {
  const dirty = new Set(differences(spec, state).map(({ field }) => partOf(field)));
  const isDirty = (part: string) => dirty.has(part);
  const isMoving = isDirty("network");
  const { network: wanted, ...restOfSpec } = spec;
  const { network: existing, ...restOfState } = state;
  const keep = <T extends LoadBalancerSpec | LoadBalancerState>(of: T) => ({
    listeners: of.listeners.filter(({ listenPort }) => isDirty(listenerPart(listenPort))),
    // A balancer that is attached anew loses its private targets: they have to be seen with its network.
    targets: of.targets.filter((target) => isMoving || isDirty(targetPart(target))),
  });
  return {
    spec: { ...restOfSpec, ...(wanted && isMoving && { network: wanted }), ...keep(spec) },
    state: { ...restOfState, ...(existing && isMoving && { network: existing }), ...keep(state) },
  };
}

/** The part a difference is in: fields begin with its name, `target` before it; all else is the balancer or its network. */
function partOf(field: string): string {
  const [first = "", second = ""] = field.split(" ");
  if (first === "target") return second;
  return first === "public" || first === "network" ? "network" : first;
}

/**
 * The whole state after a run: what the engine made of the excerpt, and what was not in it. Records that stand on
 * something the run has taken away go with it.
 */
export function merge(state: Checkpoint, excerpt: Checkpoint, after: Checkpoint): Checkpoint {
  const seen = new Set(excerpt.map(({ urn }) => urn));
  const rest = state.filter(({ urn }) => !seen.has(urn));
  const known = new Set([...after, ...rest].map(({ urn }) => urn));
  return [...after, ...rest.filter(({ dependencies = [] }) => dependencies.every((urn) => known.has(urn)))];
}
