/** Which unit a request of the plugin is about: for the audit log, and for whoever asks what a change was for. */

import { routeUnit } from "../../stacks/names.ts";
import type { UnitId, UnitState } from "../../stacks/spec.ts";
import type { ApiRequest } from "../hcloud/exchange.ts";
import type { Plan } from "./plan.ts";

export type Attribution = (request: ApiRequest, answer?: string) => UnitId | undefined;

/**
 * Attributes requests by the balancers' ids, by name for those not made yet, and by destination for routes. The id of a new
 * balancer is learnt from the answer to its creation.
 */
export function attributionOf(plan: Plan, present: Readonly<Partial<Record<UnitId, UnitState>>>): Attribution {
  const byId = new Map<string, UnitId>();
  const byName = new Map<string, UnitId>();
  for (const step of plan) {
    const state = present[step.unit];
    if (state?.kind === "load-balancer") byId.set(String(state.id), step.unit);
    if (step.kind === "make" && step.spec.kind === "load-balancer") byName.set(step.spec.name, step.unit);
  }
  return ({ path, body }, answer) => {
    const id = /^\/load_balancers\/(\d+)/.exec(path)?.[1];
    if (id !== undefined) return byId.get(id);
    const fields = parse(body);
    if (path === "/load_balancers") {
      const unit = byName.get(String(fields.name));
      const made = parse(answer).load_balancer as { id?: number } | undefined;
      if (unit && made?.id !== undefined) byId.set(String(made.id), unit);
      return unit;
    }
    const destination = fields.destination;
    return /_route$/.test(path) && typeof destination === "string" ? routeUnit({ destination }) : undefined;
  };
}

function parse(text: string | undefined): Record<string, unknown> {
  try {
    return (JSON.parse(text ?? "{}") ?? {}) as Record<string, unknown>;
  } catch {
    return {}; // not JSON: then it names nothing
  }
}
