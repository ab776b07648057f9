/** What a run may write, and which unit each request of the Pulumi plugin is about. */
import { routeUnit } from "../../stacks/units/names.ts";
import type { LoadBalancerSpec, UnitId, UnitState, UnitStates } from "../../stacks/units/spec.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { Plan, PlannedUnit } from "../guard/plan.ts";
import { type ApiRequest, resourceOf } from "../hcloud/exchange.ts";
import type { RunInfo } from "../hcloud/sender.ts";

/** The API's names for the kinds of units that have ids. */
const NAMES = {
  "load-balancer": { one: "load_balancer", many: "load_balancers" },
  certificate: { one: "certificate", many: "certificates" },
} as const;

/** Actions that change a load balancer and leave it in existence. */
const ACTIONS =
  /^(add|update|delete)_service$|^(add|remove)_target$|^(attach_to|detach_from)_network$|^change_(type|algorithm|protection|dns_ptr)$|^(enable|disable)_public_interface$/;

const ROUTE_ACTION = /^\/networks\/\d+\/actions\/(add|delete)_route$/;

/** The scope of a run: exactly what its plan needs. Nothing that exists is created again, or deleted to be changed. */
export function scopeOf(
  plan: Plan,
  existing: UnitStates,
): Required<Pick<RunInfo, "attribute" | "permits" | "newBalancer">> {
  const steps = new Map(plan.map((step) => [step.unit, step]));
  const attribute = attributionOf(plan, existing);
  return {
    attribute,
    permits: (request) => {
      const unit = attribute(request);
      const step = unit && steps.get(unit);
      return step !== undefined && isPlanned(request, step, existing[step.unit]);
    },
    newBalancer: (name) =>
      plan
        .flatMap((step) => (step.kind === "make" && !existing[step.unit] ? [step.spec] : []))
        .find((spec): spec is LoadBalancerSpec => spec.kind === "load-balancer" && spec.name === name),
  };
}

/**
 * Attributes requests to the units of a plan: by the IDs of load balancers and certificates, by name where they are yet to
 * be created, and by destination for routes. New IDs are learnt from the responses to creations.
 */
function attributionOf(plan: Plan, existing: UnitStates): (request: ApiRequest, answer?: string) => UnitId | undefined {
  const units = new Map<string, UnitId>();
  const planned = new Set(plan.map(({ unit }) => unit));
  for (const step of plan) {
    const state = existing[step.unit];
    if (state && state.kind !== "route") units.set(`${NAMES[state.kind].many}/${state.id}`, step.unit);
    const spec = step.kind === "make" ? step.spec : undefined;
    if (spec && spec.kind !== "route") units.set(`${NAMES[spec.kind].many} ${spec.name}`, step.unit);
  }
  return ({ path, body }, answer) => {
    const known = units.get(resourceOf(path) ?? "");
    if (known) return known;
    const fields = parse(body);
    const names = Object.values(NAMES).find(({ many }) => path === `/${many}`);
    if (names) {
      const unit = units.get(`${names.many} ${fields.name}`);
      const made = parse(answer)[names.one] as { id?: number } | undefined;
      if (unit && made?.id !== undefined) units.set(`${names.many}/${made.id}`, unit);
      return unit;
    }
    const isRoute = ROUTE_ACTION.test(path) && typeof fields.destination === "string";
    const route = isRoute ? routeUnit({ destination: fields.destination as string }) : undefined;
    return route && planned.has(route) ? route : undefined;
  };
}

/**
 * | request | allowed for |
 * | --- | --- |
 * | create | a unit to be made that does not exist |
 * | update, action | a unit to be made |
 * | delete | a unit to be removed |
 * | add a route | a route to be made, in its network and to its gateway |
 * | delete a route | one to be removed, or to be replaced because it exists with another gateway |
 */
function isPlanned(request: ApiRequest, step: PlannedUnit, existing: UnitState | undefined): boolean {
  if (step.unit.startsWith("route/")) return isPlannedRoute(request, step, existing);
  const isMade = step.kind === "make";
  const { id, action } = /^\/\w+(\/(?<id>\d+)(\/actions\/(?<action>\w+))?)?$/.exec(request.path)?.groups ?? { id: "" };
  if (action !== undefined) return isMade && request.method === "POST" && ACTIONS.test(action);
  switch (request.method) {
    case "POST":
      return isMade && !existing && id === undefined;
    case "PUT":
      return isMade && Boolean(id);
    case "DELETE":
      return !isMade && Boolean(id);
    default:
      return false;
  }
}

function isPlannedRoute(request: ApiRequest, step: PlannedUnit, existing: UnitState | undefined): boolean {
  const isAdded = request.path.endsWith("/add_route");
  const planned = step.kind === "make" ? step.spec : undefined;
  const route = isAdded ? planned : existing;
  if (request.method !== "POST" || route?.kind !== "route") return false;
  const path = `/networks/${route.networkId}/actions/${isAdded ? "add" : "delete"}_route`;
  return request.path === path && parse(request.body).gateway === route.gateway;
}

/** An empty object for anything that is not JSON. */
function parse(text: string | undefined): Record<string, unknown> {
  return parseJson(text) ?? {};
}
