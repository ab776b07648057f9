import type { RunRequest } from "../../stacks/run.ts";
import type { Desired } from "./desired.ts";
import type { Plan } from "./plan.ts";

/** A plan as the engine's request: the units it names, and what the cloud has of them and of all others. */
export function runRequest(
  mode: RunRequest["mode"],
  plan: Plan,
  desired: Desired,
  access: RunRequest["access"],
): RunRequest {
  return {
    mode,
    units: plan.flatMap((step) => (step.kind === "make" ? [step.spec] : [])),
    removals: plan.flatMap((step) => (step.kind === "remove" ? [step.unit] : [])),
    present: desired.present,
    nodes: desired.nodes,
    access: { endpoint: access.endpoint, token: access.token },
  };
}
