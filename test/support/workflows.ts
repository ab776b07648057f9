/** The workflows of GitHub, parsed. */
import { globSync, readFileSync } from "node:fs";
import { parse } from "yaml";

/** A step with a script or an action. */
export interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
}

type Permissions = Readonly<Record<string, string>>;

interface Job {
  readonly permissions?: Permissions;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly steps: readonly Step[];
}

/** One file below .github. A composite action has one job, `runs`. */
export interface Workflow {
  readonly file: string;
  readonly text: string;
  readonly permissions?: Permissions;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** All workflows and composite actions. */
export const WORKFLOWS: readonly Workflow[] = globSync(".github/{workflows/*,actions/*/action}.yml")
  .toSorted()
  .map((file) => {
    const text = readFileSync(file, "utf8");
    const { jobs, runs, permissions } = parse(text);
    return { file, text, permissions, jobs: jobs ?? { runs } };
  });

/** All steps with a script. */
export const SCRIPTS = WORKFLOWS.flatMap(({ file, jobs }) =>
  Object.entries(jobs).flatMap(([job, { steps }]) =>
    steps.flatMap(({ run, name }) => (run === undefined ? [] : [{ where: `${file} # ${job}`, name, run: run.trim() }])),
  ),
);
