/**
 * `lotse stack`: writes the cluster's stack for a plain `pulumi preview`, built from the current cloud. With `export` or
 * `outputs`, prints the stack that the controller saved.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { writeBackend } from "../../../stacks/state/mirror.ts";
import { defined } from "../../../stacks/units/defined.ts";
import type { UnitId } from "../../../stacks/units/spec.ts";
import { findEngine } from "../../app/engine-home.ts";
import type { Environment } from "../../config/config.ts";
import { CLUSTER_FLAGS, type FlagValues } from "../../config/flags.ts";
import { ConfigError, messageOf } from "../../diagnostics/errors.ts";
import { wantedSpecs } from "../../guard/plan.ts";
import { absolutePaths } from "../../kube/kubeconfig.ts";
import type { Given } from "../command-line.ts";
import { type CommandConfig, commandConfig, FLAGS_VARIABLE, open, planOf, textOf } from "../open.ts";
import { quoted } from "../shell.ts";
import { isSavedWord, printSaved } from "./saved-stack.ts";

/** Prints the saved stack; or writes a new one, then runs a command in the environment for it, or prints that. */
export async function stack(given: Given): Promise<number> {
  const { flags, operands } = given;
  const [program, ...args] = operands;
  if (isSavedWord(program)) {
    await printSaved(program, given);
    return 0;
  }
  if (flags.json) throw new ConfigError(["--json: use it with `lotse stack outputs`"]);
  const config = commandConfig(flags);
  const environment = await writeStack(config, flags, textOf(flags.dir));
  if (program !== undefined) return runIn(environment, program, args);
  const lines = Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`);
  process.stdout.write(`${lines.join("\n")}\n`);
  if (process.stdout.isTTY)
    process.stderr.write('\nmeant for a shell: eval "$(lotse stack …)", then: pulumi preview --stack NAME\n');
  return 0;
}

/** Runs a program with this terminal. Returns its exit code; 1 if a signal ended it. */
export async function runIn(environment: Environment, program: string, args: readonly string[], cwd = process.cwd()) {
  const child = spawn(program, args, { cwd, stdio: "inherit", env: { ...process.env, ...environment } });
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } catch (error) {
    throw new ConfigError([`stack: ${messageOf(error)}`]);
  }
}

/** Writes the stack to a directory. Returns the environment variables that `pulumi` needs in addition to HCLOUD_*. */
export async function writeStack(config: CommandConfig, flags: FlagValues, directory = defaultFolder(config)) {
  await using session = await open(config);
  const snapshot = await session.observe();
  const { rendered, plan } = planOf(snapshot, session);
  const units = wantedSpecs(rendered);
  const removals = plan.flatMap((step) => (step.kind === "remove" ? [step.unit] : []));
  const concerned = new Set<UnitId>([...units.keys(), ...removals]);
  const existing = Object.fromEntries([...concerned].map((unit) => [unit, rendered.existing[unit]]));
  // Pulumi runs the program of a preview in the project's folder.
  const kubeconfig = config.kubeconfig === undefined ? undefined : absolutePaths(config.kubeconfig);
  const home = {
    ...findEngine(process.env),
    directory: resolve(directory),
    isScratch: false,
    stack: config.clusterName,
  };
  const outputs = await session.outputs(snapshot, rendered);
  const ranges = session.config.clusterCidrs.join(",");
  const backend = await writeBackend(home, { stack: home.stack, specs: [...units.values()], existing, outputs });
  return {
    ...backend,
    // The language host starts the first `node` in PATH, which must be able to run TypeScript sources.
    PATH: [dirname(process.execPath), dirname(home.pulumi), process.env.PATH ?? ""].join(delimiter),
    ...defined({ KUBECONFIG: kubeconfig }),
    [FLAGS_VARIABLE]: JSON.stringify(clusterFlags({ ...flags, kubeconfig, "cluster-cidr": ranges || undefined })),
  };
}

function clusterFlags(flags: FlagValues): FlagValues {
  const names = new Set(CLUSTER_FLAGS.map(({ name }) => name));
  return Object.fromEntries(Object.entries(flags).filter(([name, value]) => names.has(name) && value !== undefined));
}

/** The folder of the stack in the user's cache. */
function defaultFolder({ clusterName }: CommandConfig): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "lotse", "stacks", clusterName);
}
