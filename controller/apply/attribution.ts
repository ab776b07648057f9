/** Which unit a request of the Pulumi plugin is about: for the record, and for the gateway's permission check. */
import { routeUnit } from "../../stacks/units/names.ts";
import type { LoadBalancerSpec, UnitId, UnitState } from "../../stacks/units/spec.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { Plan } from "../guard/plan.ts";
import { type ApiRequest, resourceOf } from "../hcloud/exchange.ts";

/** The unit of a request, or undefined when it is about none of the plan. `answer` is the body of the response. */
export type Attribution = (request: ApiRequest, answer?: string) => UnitId | undefined;

/**
 * Attributes requests to the units of a plan: by the IDs of load balancers and certificates, by name where they are yet to
 * be created, and by destination for routes. New IDs are learnt from the responses to creations.
 */
export function attributionOf(plan: Plan, existing: Readonly<Partial<Record<UnitId, UnitState>>>): Attribution {
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
    const isRoute = /_route$/.test(path) && typeof fields.destination === "string";
    const route = isRoute ? routeUnit({ destination: fields.destination as string }) : undefined;
    return route && planned.has(route) ? route : undefined;
  };
}

/** The API's names for the kinds of units. */
const NAMES = {
  "load-balancer": { one: "load_balancer", many: "load_balancers" },
  certificate: { one: "certificate", many: "certificates" },
} as const;

/** Looks up, by name, the load balancers that a plan creates. */
export function newBalancers(plan: Plan, existing: Readonly<Partial<Record<UnitId, UnitState>>>) {
  const specs = plan.flatMap((step) => (step.kind === "make" && !existing[step.unit] ? [step.spec] : []));
  return (name: string): LoadBalancerSpec | undefined =>
    specs.find((spec): spec is LoadBalancerSpec => spec.kind === "load-balancer" && spec.name === name);
}

/** An empty object for anything that is not JSON. */
function parse(text: string | undefined): Record<string, unknown> {
  return parseJson(text) ?? {};
}
