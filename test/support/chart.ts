/** Objects rendered from the chart, and the command line of its container. */
import type { V1Container, V1EnvVar, V1ObjectMeta, V1PodTemplateSpec } from "@kubernetes/client-node";
import { parseAllDocuments } from "yaml";
import { commandLine } from "../../controller/commands/command-line.ts";
import { type FlagValues, RUN_FLAGS } from "../../controller/config/flags.ts";
import { type ChartValues, type RenderOptions, renderChart } from "../../dev-env/chart/render.ts";

/** An object of any kind, with the fields that tests use. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: V1ObjectMeta & { readonly name: string };
  readonly spec: WorkloadSpec;
  readonly rules?: readonly Rule[];
  readonly data?: Readonly<Record<string, string>>;
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** A rule of a Role. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface WorkloadSpec {
  readonly replicas?: number;
  readonly strategy?: unknown;
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly template: V1PodTemplateSpec;
}

/** All objects of a manifest. */
export function parseObjects(manifest: string): readonly Rendered[] {
  return parseAllDocuments(manifest)
    .map((document): unknown => document.toJS())
    .filter((object): object is Rendered => typeof object === "object" && object !== null);
}

/** Renders the chart with these values. */
export async function objectsOf(values: ChartValues, options?: RenderOptions): Promise<readonly Rendered[]> {
  return parseObjects(await renderChart(values, options));
}

/** The Deployment or DaemonSet. */
export function workloadOf(objects: readonly Rendered[]): Rendered {
  const workload = objects.find(({ kind }) => kind === "Deployment" || kind === "DaemonSet");
  if (!workload) throw new Error("there is neither a Deployment nor a DaemonSet");
  return workload;
}

/** The only container. */
export function containerOf(objects: readonly Rendered[]): V1Container {
  const [container, ...others] = workloadOf(objects).spec.template.spec?.containers ?? [];
  if (!container || others.length > 0) throw new Error("there is not exactly one container");
  return container;
}

/** Parses the container's arguments as the program does. Throws if they are invalid. */
export async function flagsOf(args: readonly string[]): Promise<FlagValues> {
  let given: FlagValues = {};
  const program = commandLine([
    {
      name: "run",
      summary: "",
      flags: RUN_FLAGS,
      action: async ({ flags }) => {
        given = flags;
      },
    },
  ]);
  for (const command of [program, ...program.commands]) command.exitOverride().configureOutput({ writeErr: () => {} });
  await program.parseAsync([...args], { from: "user" });
  return given;
}

/** The container's environment. `resolve` supplies values that the kubelet would look up. */
export function environmentOf(
  variables: readonly V1EnvVar[],
  resolve: (variable: V1EnvVar) => string | undefined,
): Readonly<Record<string, string>> {
  const entries = variables.map((variable) => [variable.name, variable.value ?? resolve(variable)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
