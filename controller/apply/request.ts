/** What a run asks of the engine. */
import type { RunRequest } from "../../stacks/engine/run.ts";
import type { Plan } from "../guard/plan.ts";
import type { Credential } from "../hcloud/session.ts";
import type { Rendered } from "../render/cluster.ts";

/** The engine's request for a plan: its units, and what exists of them. */
export function runRequest(
  mode: RunRequest["mode"],
  plan: Plan,
  { existing }: Rendered,
  access: Credential,
): RunRequest {
  return {
    mode,
    units: plan.flatMap((step) => (step.kind === "make" ? [step.spec] : [])),
    removals: plan.flatMap((step) => (step.kind === "remove" ? [step.unit] : [])),
    existing,
    access: { endpoint: access.endpoint, token: access.token },
  };
}
