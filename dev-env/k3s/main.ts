/** What `npm run dev-env` runs: comfort around the Pulumi programs in this folder. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Command } from "commander";
import { DEFAULT_ENDPOINT } from "../project/api.ts";
import { withLock } from "../toolchain/lock.ts";
import { ProgressDisplay } from "../toolchain/progress.ts";
import { ensureToolchain, type Toolchain } from "../toolchain/toolchain.ts";
import { down } from "./down.ts";
import { type Environment, Folder, printVariables } from "./environment.ts";
import { explain } from "./errors.ts";
import { Screen } from "./screen.ts";
import { environmentName } from "./setting-values.ts";
import { type Choices, parseSettings, SETTING_NAMES, SETTINGS, type SettingName, variableOf } from "./settings.ts";
import { ssh } from "./ssh.ts";
import { status } from "./status.ts";
import { preview, up } from "./up.ts";
import { watch } from "./watch.ts";

/** One of the commands. */
interface Action {
  readonly summary: string;
  /** Whether it takes settings. The others use those of the last `up`. */
  readonly builds?: boolean;
  /** Whether it uses the stacks: one command at a time. */
  readonly isExclusive?: boolean;
  /** Whether its output is for programs: everything else goes to standard error. */
  readonly isQuiet?: boolean;
  readonly argument?: string;
  readonly flag?: readonly [flag: string, doc: string];
  readonly run: (env: Environment, flag: boolean, argument?: string) => Promise<void>;
}

const ACTIONS: Readonly<Record<string, Action>> = {
  up: { summary: "build the environment, or bring it up to date", builds: true, isExclusive: true, run: up },
  preview: {
    summary: "show what up would do to the machines; exit code 2 if it would do something",
    builds: true,
    isExclusive: true,
    flag: ["--json", "print the steps as JSON"],
    run: preview,
  },
  down: {
    summary: "remove everything",
    isExclusive: true,
    flag: ["--yes", "also remove what the state does not know, without asking"],
    run: down,
  },
  status: { summary: "show what exists and what it costs", run: status },
  ssh: { summary: "open a shell on a server", argument: "[server]", run: (env, _flag, server) => ssh(env, server) },
  watch: { summary: "run the controller from the sources, restarted when they change", run: watch },
  env: { summary: "print variables for kubectl and plain pulumi", isQuiet: true, run: printVariables },
};

/** Fires when the user wants to stop. */
const stop = new AbortController();

const DEFAULT_NAME = "lotse-dev";
const ENDPOINT = process.env.HCLOUD_ENDPOINT ?? DEFAULT_ENDPOINT;

function commandLine(): Command {
  const program = new Command("dev-env").description("A k3s cluster on Hetzner Cloud servers, to develop Lotse with");
  for (const [name, action] of Object.entries(ACTIONS)) {
    const command = program.command(name).description(action.summary);
    if (action.argument) command.argument(action.argument);
    command.option("--name <name>", `name of the environment (default: ${DEFAULT_NAME}) [LOTSE_DEV_NAME]`);
    if (action.flag) command.option(...action.flag);
    if (action.builds) addSettings(command);
    command.action(async () => act(action, command));
  }
  return program;
}

function addSettings(command: Command): void {
  for (const setting of Object.values(SETTINGS)) {
    const fallback = setting.fallback && ` (default: ${setting.fallback})`;
    command.option(`--${setting.flag} ${setting.value}`, `${setting.doc}${fallback} [${variableOf(setting)}]`);
  }
}

async function act(action: Action, command: Command): Promise<void> {
  const flags = command.opts<Readonly<Record<string, string | boolean | undefined>>>();
  const { HCLOUD_TOKEN: token = "", LOTSE_DEV_NAME } = process.env;
  const name = String(flags.name ?? (LOTSE_DEV_NAME || DEFAULT_NAME));
  const folder = new Folder(name, process.env.LOTSE_DEV_STATE || undefined);
  // A mistake in a setting must not prevent the removal of what costs money.
  const given = action.builds ? readChoices(flags) : {};
  const choices = { ...folder.choices(), ...given };
  const settings = parseSettings(choices, (setting) => nameOf(setting, given), checkEssentials(name, token));
  const screen = new Screen(action.isQuiet || flags.json ? process.stderr : process.stdout);
  const access = { endpoint: ENDPOINT, token };
  const env = { name, settings, choices, folder, access, tools: await setUp(), screen, signal: stop.signal };
  listenForStop(screen);
  const run = () => action.run(env, Boolean(flags.yes ?? flags.json), command.args[0]);
  if (!action.isExclusive) return run();
  await mkdir(dirname(folder.path), { recursive: true, mode: 0o700 });
  await withLock(`${folder.path}.lock`, () => screen.say("waiting", `another command works on ${name}`), run);
}

function checkEssentials(name: string, token: string): readonly string[] {
  const named = environmentName(name);
  return [
    ...("allowed" in named ? [`--name or LOTSE_DEV_NAME: ${JSON.stringify(name)} is not ${named.allowed}`] : []),
    ...(token === ""
      ? ["HCLOUD_TOKEN is not set: create a token with read and write rights in the Cloud Console"]
      : []),
  ];
}

/** Settings in this call: flags before variables. */
function readChoices(flags: Readonly<Record<string, unknown>>): Choices {
  const entries = SETTING_NAMES.flatMap((name) => {
    const value = flags[name] ?? (process.env[variableOf(SETTINGS[name])] || undefined);
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return Object.fromEntries(entries);
}

function nameOf(setting: SettingName, given: Choices): string {
  const { flag } = SETTINGS[setting];
  return given[setting] === undefined ? `${flag} of the last time` : `--${flag} or ${variableOf({ flag })}`;
}

async function setUp(): Promise<Toolchain> {
  const display = new ProgressDisplay(process.stderr);
  try {
    return await ensureToolchain(["pulumi", "pulumi-language-nodejs", "pulumi-resource-hcloud"], display.report);
  } finally {
    display.close();
  }
}

/** The first Ctrl-C finishes what is under way, a second one ends at once. */
function listenForStop(screen: Screen): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      screen.say("stopping", "finishing what is under way; press Ctrl-C again to end at once");
      stop.abort();
    });
  }
}

try {
  await commandLine().parseAsync();
} catch (error) {
  const lines = stop.signal.aborted
    ? ["stopped half-way: the same command continues from there"]
    : explain(error, ENDPOINT);
  for (const line of lines) process.stderr.write(`dev-env: ${line}\n`);
  process.exitCode = 1;
}
