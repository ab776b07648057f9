/** Wanted against existing → what the next run has to do. */
import { type Difference, differences } from "../../stacks/units/difference.ts";
import { routeUnit, unitOf } from "../../stacks/units/names.ts";
import type { UnitId, UnitSpec } from "../../stacks/units/spec.ts";
import type { Desired } from "../render/cluster.ts";
import type { ServiceWish } from "../render/intents.ts";

/** One unit that is not as wanted, and in what. */
export type PlannedUnit = { readonly unit: UnitId; readonly differences: readonly Difference[] } & (
  | { readonly kind: "make"; readonly spec: UnitSpec }
  /** `asked`: an object asks for the removal; otherwise it follows from something no longer being there. */
  | { readonly kind: "remove"; readonly asked: boolean }
);

export type Plan = readonly PlannedUnit[];

/** The units that differ. Empty for a cluster at rest. */
export function planRun(desired: Desired): Plan {
  const makes = [...wantedSpecs(desired)].flatMap(([unit, spec]) => planMake(unit, spec, desired));
  return [...makes, ...planRemovals(desired)];
}

/** Everything wanted, by unit. */
export function wantedSpecs({ services, routes }: Desired): ReadonlyMap<UnitId, UnitSpec> {
  const balancers = services.flatMap((wish) => (wish.kind === "balance" ? [wish.spec] : []));
  const certificates = services.flatMap((wish) =>
    wish.kind === "balance" ? wish.certificates.wanted.map(({ spec }) => spec) : [],
  );
  const all: readonly UnitSpec[] = [...balancers, ...certificates, ...(routes?.wanted ?? []).map(({ spec }) => spec)];
  return new Map(all.map((spec) => [unitOf(spec), spec]));
}

function planMake(unit: UnitId, spec: UnitSpec, { present }: Desired): Plan {
  const found = differences(spec, present[unit]);
  return found.length > 0 ? [{ kind: "make", unit, spec, differences: found }] : [];
}

function planRemovals(desired: Desired): Plan {
  const { services, routes } = desired;
  const releases = services.flatMap((wish): Plan => {
    if (wish.kind !== "release") return [];
    const left = wish.certificates.left ?? [];
    return [...planRelease(wish, desired), ...left.flatMap((spec) => planMake(unitOf(spec), spec, desired))];
  });
  const certificates = services.flatMap((wish) => (wish.kind === "refused" ? [] : wish.certificates.stale));
  const stale = (routes?.stale ?? []).map((route) => removal(routeUnit(route), false));
  return [...releases, ...certificates.map((unit) => removal(unit, true)), ...stale];
}

function planRelease({ unit, keeps }: ServiceWish & { readonly kind: "release" }, desired: Desired): Plan {
  const state = desired.present[unit];
  if (keeps) return state ? planMake(unit, keeps.spec, desired) : [];
  return isRemovable(state) ? [removal(unit, true)] : [];
}

/** Takes a unit away. */
export function removal(unit: UnitId, asked: boolean): Plan[number] {
  return { kind: "remove", unit, asked, differences: [{ field: "existence", have: "present" }] };
}

/** A balancer under delete protection stays: its Service is released without it (S21). */
function isRemovable(state: Desired["present"][UnitId]): boolean {
  return state?.kind === "load-balancer" && !state.deleteProtection;
}
