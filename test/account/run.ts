/** Works through the steps, and notes what came of each. */
import { messageOf } from "../../controller/diagnostics/errors.ts";
import type { Stage } from "./stage.ts";
import type { Need, Step } from "./steps/step.ts";

export interface StepResult {
  readonly id: string;
  readonly title: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** Why it failed or was skipped. */
  readonly message?: string;
  /** Requests to the API of Hetzner, by the controller and the suite. */
  readonly calls: number;
}

export interface RunOptions {
  /** What the stage offers. */
  readonly offers: readonly Need[];
  /** Requests so far. */
  readonly calls: () => number;
  readonly report: (result: StepResult) => void;
}

const WHY_NOT: Readonly<Record<Need, string>> = {
  cluster: "",
  traffic: "needs --image, an HTTP server on port 80 such as nginx",
  project: "needs a project of its own: npm run test:account",
};

/** Runs all steps in order. A failed one stops only those that depend on it; an abort ends the list. */
export async function runSteps(
  steps: readonly Step[],
  stage: Stage,
  options: RunOptions,
): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) {
    if (stage.parts.signal.aborted) break;
    const reason = reasonToSkip(step, results, options.offers);
    const result = reason === undefined ? await runStep(step, stage, options.calls) : skipped(step, reason);
    results.push(result);
    options.report(result);
  }
  return results;
}

function reasonToSkip(step: Step, results: readonly StepResult[], offers: readonly Need[]): string | undefined {
  if (!offers.includes(step.needs)) return WHY_NOT[step.needs];
  const before = results.find(({ id }) => id === step.after);
  return before && before.outcome !== "passed" ? `depends on ${before.id}, which was ${before.outcome}` : undefined;
}

function skipped({ id, title }: Step, message: string): StepResult {
  return { id, title, outcome: "skipped", seconds: 0, message, calls: 0 };
}

async function runStep(step: Step, stage: Stage, calls: () => number): Promise<StepResult> {
  const { id, title } = step;
  const [started, before] = [performance.now(), calls()];
  const ended = () => ({ seconds: Math.round((performance.now() - started) / 100) / 10, calls: calls() - before });
  try {
    await step.run(stage);
    return { id, title, outcome: "passed", ...ended() };
  } catch (error) {
    // Without Events, for example because the cluster is gone, the error speaks for itself.
    const events = step.service ? await stage.events(step.service).catch(() => []) : [];
    const message = [messageOf(error), ...events.map((event) => `Event ${event}`)].join("\n");
    return { id, title, outcome: "failed", ...ended(), message };
  }
}
