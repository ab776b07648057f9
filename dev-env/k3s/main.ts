/** What `npm run dev-env` runs: a throw-away k3s cluster on Hetzner Cloud, built, looked at, worked with and removed. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { CcmError, ConfigError } from "../../controller/diagnostics/errors.ts";
import { withLock } from "../toolchain/lock.ts";
import { ProgressDisplay } from "../toolchain/progress.ts";
import { ensureToolchain, type Toolchain, ToolchainError } from "../toolchain/toolchain.ts";
import { loadConfig, OPTIONS, type Option, readChoices, variableOf } from "./config.ts";
import { down } from "./down.ts";
import type { Environment } from "./environment.ts";
import { DevEnvError } from "./errors.ts";
import { Folder, stateDirectory } from "./folder.ts";
import { printKubeconfig } from "./print-kubeconfig.ts";
import { Screen } from "./screen.ts";
import { StageError } from "./stage.ts";
import { status } from "./status.ts";
import { missingParts, up } from "./up.ts";
import { watch } from "./watch.ts";

/** One of the commands. */
interface Action {
  readonly summary: string;
  /** Takes all options, and remembers them; the others only want to know which environment is meant. */
  readonly builds?: boolean;
  /** Changes the environment: one at a time. */
  readonly changes?: boolean;
  /** Prints something that others read: all the rest goes to standard error. */
  readonly isQuiet?: boolean;
  readonly run: (env: Environment) => Promise<void>;
}

const ACTIONS: Readonly<Record<string, Action>> = {
  up: { summary: "build the environment, or bring it up to date", builds: true, changes: true, run: up },
  down: { summary: "remove everything", changes: true, run: down },
  status: { summary: "tell what there is and what it costs", run: status },
  kubeconfig: { summary: "print the path of the kubeconfig", isQuiet: true, run: printKubeconfig },
  watch: { summary: "run the controller from the sources, started anew when they change", run: watch },
};

/** Fires when somebody wants to stop. */
const stop = new AbortController();

const DEFAULT_ENDPOINT = "https://api.hetzner.cloud/v1";

type Flags = Readonly<Record<string, string | undefined>>;

function commandLine(): Command {
  const program = new Command("dev-env").description(
    "A throw-away k3s cluster on Hetzner Cloud, to work on Lotse with",
  );
  for (const [name, action] of Object.entries(ACTIONS)) {
    const command = program.command(name).description(action.summary);
    const options: readonly Option<unknown>[] = action.builds ? Object.values(OPTIONS) : [OPTIONS.name];
    for (const option of options) {
      const fallback = option.fallback && ` (default: ${option.fallback})`;
      command.option(`--${option.flag} ${option.value}`, `${option.doc}${fallback} [${variableOf(option)}]`);
    }
    command.action(async () => {
      const value = (flag: string) => {
        const attribute = command.options.find(({ long }) => long === `--${flag}`)?.attributeName();
        return attribute === undefined ? undefined : command.getOptionValue(attribute);
      };
      await act(action, Object.fromEntries(options.map(({ flag }) => [flag, value(flag)])));
    });
  }
  return program;
}

async function act(action: Action, flags: Flags): Promise<void> {
  const said = readChoices(flags, process.env);
  // A mistake in an option must not keep anybody from removing what costs money.
  const asked = action.builds ? said : { ...(said.name !== undefined && { name: said.name }) };
  const states = stateDirectory(process.env);
  const folder = new Folder(loadConfig({ ...(asked.name !== undefined && { name: asked.name }) }).name, states);
  const before = await folder.choices();
  const { HCLOUD_TOKEN: token = "", HCLOUD_ENDPOINT: endpoint = DEFAULT_ENDPOINT } = process.env;
  const config = loadConfig(asked, before, [
    ...(token === ""
      ? ["HCLOUD_TOKEN is not set: create a token with read and write rights in the Cloud Console"]
      : []),
    ...(action.builds ? missingParts() : []),
  ]);
  const tools = await setUp();
  const screen = new Screen(action.isQuiet ? process.stderr : process.stdout);
  const env = { config, folder, access: { endpoint, token }, tools, screen, signal: stop.signal };
  listenForStop(screen);
  if (!action.changes) return action.run(env);
  await mkdir(states, { recursive: true, mode: 0o700 });
  const wait = () => screen.say("waiting", `another command works on ${config.name}`);
  await withLock(join(states, `${config.name}.lock`), wait, async () => {
    if (action.builds) await folder.remember({ ...before, ...asked });
    await action.run(env);
  });
}

async function setUp(): Promise<Toolchain> {
  const display = new ProgressDisplay(process.stderr);
  try {
    return await ensureToolchain(["pulumi", "pulumi-resource-hcloud"], display.report);
  } finally {
    display.close();
  }
}

/** The first Ctrl-C ends things in good order, a second one at once. */
function listenForStop(screen: Screen): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      screen.say("stopping", "finishing what is under way; once more ends at once");
      stop.abort();
    });
  }
}

/** What went wrong, in lines for a person; anything we did not expect comes with its stack. */
function explain(error: unknown): readonly string[] {
  if (stop.signal.aborted) return ["stopped half-way: the same command goes on from there"];
  if (error instanceof ConfigError) return error.mistakes;
  if (error instanceof StageError) return error.causes;
  const isForPeople = [CcmError, ToolchainError, DevEnvError].some((kind) => error instanceof kind);
  if (error instanceof Error && isForPeople) return [error.message];
  return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
}

try {
  await commandLine().parseAsync();
} catch (error) {
  for (const line of explain(error)) process.stderr.write(`dev-env: ${line}\n`);
  process.exitCode = 1;
}
