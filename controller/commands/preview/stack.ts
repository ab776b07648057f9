/** `lotse stack`: writes the cluster's stack for a plain `pulumi preview`, built from the current cloud. */
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { writeBackend } from "../../../stacks/state/local-backend.ts";
import type { UnitId } from "../../../stacks/units/spec.ts";
import { findEngine } from "../../app/engine-home.ts";
import type { Config, Environment } from "../../config/config.ts";
import { CLUSTER_FLAGS, type FlagValues } from "../../config/flags.ts";
import { wantedSpecs } from "../../guard/plan.ts";
import type { Given } from "../command-line.ts";
import { commandConfig, FLAGS_VARIABLE, open, planOf } from "../open.ts";

/** Writes the stack and prints the environment for it. */
export async function stack({ flags }: Given): Promise<void> {
  const config = commandConfig(flags, process.env);
  const directory = typeof flags.dir === "string" ? flags.dir : defaultFolder(config, process.env);
  const environment = await writeStack(config, flags, directory);
  const lines = Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`);
  process.stdout.write(`${lines.join("\n")}\n`);
  if (process.stdout.isTTY)
    process.stderr.write('\nmeant for a shell: eval "$(lotse stack …)", then: pulumi preview --stack NAME\n');
}

/** Writes the stack to a directory. Returns the environment variables that `pulumi` needs in addition to HCLOUD_*. */
export async function writeStack(
  config: Config,
  flags: FlagValues,
  directory: string,
): Promise<Readonly<Record<string, string>>> {
  await using session = await open(config);
  const { rendered, plan } = planOf(await session.observe(), session);
  const units = wantedSpecs(rendered);
  const removals = plan.flatMap((step) => (step.kind === "remove" ? [step.unit] : []));
  const concerned = new Set<UnitId>([...units.keys(), ...removals]);
  const existing = Object.fromEntries([...concerned].map((unit) => [unit, rendered.existing[unit]]));
  const home = { ...findEngine(process.env), directory, isScratch: false, stack: config.clusterName };
  const backend = await writeBackend(home, { units: [...units.values()], removals, existing, nodes: rendered.nodes });
  return {
    ...backend,
    // The language host starts the first `node` in PATH, which must be able to run TypeScript sources.
    PATH: [dirname(process.execPath), dirname(home.pulumi), process.env.PATH ?? ""].join(delimiter),
    ...(config.kubeconfig !== undefined && { KUBECONFIG: config.kubeconfig }),
    [FLAGS_VARIABLE]: JSON.stringify(clusterFlags(flags)),
  };
}

function clusterFlags(flags: FlagValues): FlagValues {
  const names = new Set(CLUSTER_FLAGS.map(({ name }) => name));
  return Object.fromEntries(Object.entries(flags).filter(([name, value]) => names.has(name) && value !== undefined));
}

function defaultFolder({ clusterName }: Config, env: Environment): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "lotse", "stacks", clusterName);
}

/** Quotes a word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
