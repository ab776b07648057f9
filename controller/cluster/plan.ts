/** Wanted against existing → what the next run has to do. */
import { type Difference, differences } from "../../stacks/difference.ts";
import { routeUnit, unitOf } from "../../stacks/names.ts";
import type { UnitId, UnitSpec } from "../../stacks/spec.ts";
import type { Desired } from "./desired.ts";

/** One unit that is not as wanted, and in what. */
export type PlannedUnit = { readonly unit: UnitId; readonly differences: readonly Difference[] } & (
  | { readonly kind: "make"; readonly spec: UnitSpec }
  /** `asked`: an object asks for the removal; otherwise it follows from something no longer being there. */
  | { readonly kind: "remove"; readonly asked: boolean }
);

export type Plan = readonly PlannedUnit[];

/** The units that differ. Empty for a cluster at rest. */
export function planRun(desired: Desired): Plan {
  return [...wantedSpecs(desired).flatMap((spec) => planMake(spec, desired)), ...planRemovals(desired)];
}

function wantedSpecs(desired: Desired): readonly UnitSpec[] {
  const balancers = desired.services.flatMap((wish) => (wish.kind === "balance" ? [wish.spec] : []));
  return [...balancers, ...(desired.routes?.wanted ?? []).map(({ spec }) => spec)];
}

function planMake(spec: UnitSpec, { present }: Desired): Plan {
  const unit = unitOf(spec);
  const found = differences(spec, present[unit]);
  return found.length > 0 ? [{ kind: "make", unit, spec, differences: found }] : [];
}

function planRemovals({ services, routes, present }: Desired): Plan {
  const releases = services
    .filter(({ kind, unit }) => kind === "release" && isRemovable(present[unit]))
    .map(({ unit }) => removal(unit, true));
  const stale = (routes?.stale ?? []).map((route) => removal(routeUnit(route), false));
  return [...releases, ...stale];
}

function removal(unit: UnitId, asked: boolean): Plan[number] {
  return { kind: "remove", unit, asked, differences: [{ field: "existence", have: "present" }] };
}

/** A balancer under delete protection stays: its Service is released without it (S21). */
function isRemovable(state: Desired["present"][UnitId]): boolean {
  return state?.kind === "load-balancer" && !state.deleteProtection;
}
