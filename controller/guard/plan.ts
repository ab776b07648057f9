/** Compares specs with what exists, and plans the steps of the next run. */
import { isDeepStrictEqual } from "node:util";
import { type Difference, differences, existence } from "../../stacks/units/difference.ts";
import { routeUnit, unitOf } from "../../stacks/units/names.ts";
import type { UnitId, UnitSpec } from "../../stacks/units/spec.ts";
import { type Rendered, type RenderOptions, renderInSteps, type Snapshot } from "../render/cluster.ts";
import { balancerIn, isBalanced, type RetireIntent } from "../render/intents.ts";
import { finish } from "../work/steps.ts";

/** A unit that differs from its spec, and how. */
export type PlannedUnit = { readonly unit: UnitId; readonly differences: readonly Difference[] } & (
  | { readonly kind: "make"; readonly spec: UnitSpec }
  /** `asked`: an object, such as a deleted Service, asks for the removal; otherwise it follows from an object's absence. */
  | { readonly kind: "remove"; readonly asked: boolean }
);

/** The units that differ from their specs, one step each. */
export type Plan = readonly PlannedUnit[];

/** A rendered snapshot and the plan that follows from it. */
export interface Situation {
  readonly rendered: Rendered;
  readonly plan: Plan;
  /** Steps of units with actions that outlast their run, which are not in the plan. They may still come to match their specs. */
  readonly underWay?: ReadonlyMap<UnitId, PlannedUnit>;
  /** Targets that stay in the specs because suspiciously many would go, and how many there are. */
  readonly heldTargets?: { readonly names: readonly string[]; readonly total: number };
}

/** Renders a snapshot and plans. Pure. */
export function assess(snapshot: Snapshot, options: RenderOptions): Situation {
  return finish(assessInSteps(snapshot, options));
}

/** Like `assess`, with a pause after each Service and each unit. */
export function* assessInSteps(snapshot: Snapshot, options: RenderOptions): Generator<void, Situation> {
  const rendered = yield* renderInSteps(snapshot, options);
  return { rendered, plan: yield* planInSteps(rendered) };
}

/** The situation with nothing planned for units under way. */
export function setAside(situation: Situation, isUnderWay: (unit: UnitId) => boolean): Situation {
  const underWay = new Map(
    situation.plan.flatMap((step) => (isUnderWay(step.unit) ? [[step.unit, step] as const] : [])),
  );
  return { ...situation, plan: situation.plan.filter(({ unit }) => !underWay.has(unit)), underWay };
}

/** The units that differ from their specs. Empty for a cluster at rest. */
export function planRun(rendered: Rendered): Plan {
  return finish(planInSteps(rendered));
}

function* planInSteps(rendered: Rendered): Generator<void, Plan> {
  const makes: PlannedUnit[] = [];
  for (const [unit, spec] of wantedSpecs(rendered)) {
    makes.push(...planMake(unit, spec, rendered));
    yield;
  }
  return [...makes, ...planRemovals(rendered)];
}

/** All specs, by unit. */
export function wantedSpecs({ services, routes }: Rendered): ReadonlyMap<UnitId, UnitSpec> {
  const balanced = services.filter(isBalanced);
  const others = [...balanced.flatMap(({ certificates }) => certificates.wanted), ...(routes?.wanted ?? [])];
  const all: readonly UnitSpec[] = [...balanced, ...others].map(({ spec }) => spec);
  return new Map(all.map((spec) => [unitOf(spec), spec]));
}

function planMake(unit: UnitId, spec: UnitSpec, { existing }: Rendered): Plan {
  const found = differences(spec, existing[unit]);
  return found.length > 0 ? [{ kind: "make", unit, spec, differences: found }] : [];
}

function planRemovals(rendered: Rendered): Plan {
  const { services, routes } = rendered;
  const retirements = services.flatMap((intent): Plan => {
    if (intent.kind !== "retire") return [];
    const { left = [] } = intent.certificates;
    return [...planRetirement(intent, rendered), ...left.flatMap((spec) => planMake(unitOf(spec), spec, rendered))];
  });
  const certificates = services.flatMap((intent) => (intent.kind === "refused" ? [] : intent.certificates.stale));
  const stale = (routes?.stale ?? []).map((route) => removal(routeUnit(route), false));
  return [...retirements, ...certificates.map((unit) => removal(unit, true)), ...stale];
}

/** A load balancer with delete protection stays; its Service loses the finalizer all the same (S21). */
function planRetirement({ unit, keeps }: RetireIntent, rendered: Rendered): Plan {
  const balancer = balancerIn(rendered.existing, unit);
  if (!balancer) return [];
  if (keeps) return planMake(unit, keeps.spec, rendered);
  return balancer.deleteProtection ? [] : [removal(unit, true)];
}

/** The step that removes a unit. */
export function removal(unit: UnitId, asked: boolean): Plan[number] {
  return { kind: "remove", unit, asked, differences: [existence(unit)] };
}

/** Parts that one run may change: the engine needs 0.2 MB of memory for each. */
const MOST_PARTS = 1_000;

/** Splits steps into runs of limited size. Small steps come first: a route does not wait for large load balancers. */
export function portionsOf(steps: Plan): readonly Plan[] {
  const sized = steps.map((step) => ({ step, size: new Set(step.differences.map(({ part }) => part)).size }));
  const portions: PlannedUnit[][] = [];
  let room = 0;
  for (const { step, size } of sized.toSorted((a, b) => a.size - b.size)) {
    if (portions.length === 0 || size > room) {
      portions.push([]);
      room = MOST_PARTS;
    }
    portions.at(-1)?.push(step);
    room -= size;
  }
  return portions;
}

/** Whether two steps ask for the same, whatever was found of it. */
export function isSameRequest(a: PlannedUnit, b: PlannedUnit): boolean {
  return a.kind === "make" && b.kind === "make" ? isDeepStrictEqual(a.spec, b.spec) : a.kind === b.kind;
}

/** Identifies an attempt: the same differences again are the same attempt. */
export function fingerprint({ kind, differences }: PlannedUnit): string {
  return JSON.stringify([kind, differences]);
}
