/**
 * The excerpt of a state that a run works on. Other units, and parts that already match their spec, are hidden from the
 * engine. The cost of a run thus depends on the number of changes, not on the size of the cluster, and a run cannot
 * change what it does not see.
 */
import type { RunRequest } from "../engine/run.ts";
import { differences } from "../units/difference.ts";
import { listenerPart, targetPart, unitOf } from "../units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState, UnitId, UnitSpec, UnitState } from "../units/spec.ts";
import type { Checkpoint } from "./checkpoint.ts";

/** The request without other units and without listeners and targets that match their spec. The load balancers stay. */
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
    // Replacing the attachment drops the private targets, so they must be in the same run.
    targets: of.targets.filter((target) => isMoving || isDirty(targetPart(target))),
  });
  return {
    spec: { ...restOfSpec, ...(wanted && isMoving && { network: wanted }), ...keep(spec) },
    state: { ...restOfState, ...(existing && isMoving && { network: existing }), ...keep(state) },
  };
}

/** The part that a field of a difference belongs to: `listener-80 protocol`, `target server-1`, `network ip`. */
function partOf(field: string): string {
  const [first = "", second = ""] = field.split(" ");
  if (first === "target") return second;
  return first === "public" || first === "network" ? "network" : first;
}

/** The state after a run: the result of the excerpt, and all other records whose dependencies still exist. */
export function merge(state: Checkpoint, excerpt: Checkpoint, after: Checkpoint): Checkpoint {
  const seen = new Set(excerpt.map(({ urn }) => urn));
  const rest = state.filter(({ urn }) => !seen.has(urn));
  const known = new Set([...after, ...rest].map(({ urn }) => urn));
  return [...after, ...rest.filter(({ dependencies = [] }) => dependencies.every((urn) => known.has(urn)))];
}
