/** What `npm run dev-env` runs: comfort around the Pulumi programs in this folder. */
import { Command, Option } from "commander";
import { outliveReader } from "../../controller/diagnostics/paint.ts";
import { DEFAULT_ENDPOINT, ProjectApi } from "../project/api.ts";
import { Screen } from "../terminal/screen.ts";
import { listenForStop } from "../terminal/stop.ts";
import { withLock } from "../toolchain/lock.ts";
import { provideTools } from "../toolchain/progress.ts";
import { down } from "./down.ts";
import { type Environment, Folder, printVariables } from "./environment.ts";
import { explain } from "./errors.ts";
import { environmentName } from "./setting-values.ts";
import { type Choices, flagOf, parseSettings, SETTING_NAMES, SETTINGS, variableOf } from "./settings.ts";
import { ssh } from "./ssh.ts";
import { status } from "./status.ts";
import { preview, up } from "./up.ts";
import { watch } from "./watch.ts";

/** What the user wrote: flags, and variables in place of absent ones. */
interface Flags extends Choices {
  readonly name: string;
  readonly json?: true;
  readonly yes?: true;
}

/** One of the commands. */
interface Action {
  readonly summary: string;
  /** Whether it uses the stacks: one command at a time. */
  readonly isExclusive?: boolean;
  /** Commands without flags for settings use those of the last `up`. */
  readonly options?: readonly Option[];
  /** Whether it works with any settings: one that a newer version refuses must not prevent a removal. */
  readonly ignoresSettings?: boolean;
  readonly run: (env: Environment, flags: Flags, argument?: string) => Promise<void>;
}

const NO_TOKEN = "HCLOUD_TOKEN is not set: create a token with read and write rights in the Cloud Console";
const ENDPOINT = process.env.HCLOUD_ENDPOINT ?? DEFAULT_ENDPOINT;
const NAME = new Option("--name <name>", "name of the environment").env("LOTSE_DEV_NAME").default("lotse-dev");
const CHOICES = SETTING_NAMES.map((name) => {
  const { value, doc, fallback } = SETTINGS[name];
  return new Option(`--${flagOf(name)} ${value}`, doc + (fallback && ` (default: ${fallback})`)).env(variableOf(name));
});

const ACTIONS: Readonly<Record<string, Action>> = {
  up: { summary: "build the environment, or bring it up to date", options: CHOICES, isExclusive: true, run: up },
  preview: {
    summary: "show what up would do to the machines; exit code 2 if it would do something",
    options: [...CHOICES, new Option("--json", "print the steps as JSON")],
    isExclusive: true,
    run: (env, { json = false }) => preview(env, json),
  },
  down: {
    summary: "remove everything",
    options: [new Option("--yes", "also remove what the state does not know, without asking")],
    ignoresSettings: true,
    isExclusive: true,
    run: (env, { yes = false }) => down(env, yes),
  },
  status: { summary: "show what exists and what it costs", run: status },
  "ssh [server]": {
    summary: "open a shell on a server",
    ignoresSettings: true,
    run: (env, _, server) => ssh(env, server),
  },
  watch: { summary: "run the controller from the sources, restarted when they change", run: watch },
  env: { summary: "print variables for kubectl and plain pulumi", ignoresSettings: true, run: printVariables },
};

/** Fires when the user wants to stop. */
const stop = new AbortController();

function commandLine(): Command {
  const program = new Command("dev-env").description("A k3s cluster on Hetzner Cloud servers, to develop Lotse with");
  for (const [usage, action] of Object.entries(ACTIONS)) {
    const command = program.command(usage).description(action.summary);
    for (const option of [NAME, ...(action.options ?? [])]) command.addOption(option);
    command.action(() => act(action, command.opts(), command.args[0]));
  }
  return program;
}

async function act({ run, ignoresSettings, isExclusive }: Action, flags: Flags, argument?: string): Promise<void> {
  const { name, json, yes: _, ...given } = flags;
  const { HCLOUD_TOKEN: token = "", LOTSE_DEV_STATE } = process.env;
  const folder = new Folder(name, LOTSE_DEV_STATE);
  const choices = ignoresSettings ? {} : { ...folder.choices(), ...given };
  const named = environmentName(name);
  const mistakes = [
    ...("allowed" in named ? [`--name or LOTSE_DEV_NAME: ${JSON.stringify(name)} is not ${named.allowed}`] : []),
    ...(token === "" ? [NO_TOKEN] : []),
  ];
  const settings = parseSettings(choices, mistakes, (setting) =>
    setting in given ? `--${flagOf(setting)} or ${variableOf(setting)}` : `--${flagOf(setting)}, kept from the last up`,
  );
  const tools = await provideTools(process.stderr, ["pulumi", "pulumi-language-nodejs", "pulumi-resource-hcloud"]);
  const screen = new Screen(json ? process.stderr : process.stdout);
  using api = new ProjectApi({ endpoint: ENDPOINT, token }, "dev-env");
  const variables = { ...process.env, HCLOUD_TOKEN: token, HCLOUD_ENDPOINT: ENDPOINT };
  const env = { name, settings, choices, folder, api, variables, tools, screen, signal: stop.signal };
  listenForStop(stop, screen);
  const work = () => run(env, flags, argument);
  if (!isExclusive) return await work();
  const onWait = () => screen.say("waiting", `another command works on ${name}`);
  await withLock(`${folder.path}.lock`, work, { onWait, signal: stop.signal });
}

outliveReader();
try {
  // An empty variable counts as absent.
  for (const [key, value] of Object.entries(process.env))
    if (key.startsWith("LOTSE_DEV_") && value === "") delete process.env[key];
  await commandLine().parseAsync();
} catch (error) {
  const lines = stop.signal.aborted
    ? ["interrupted: run the same command again to continue"]
    : explain(error, ENDPOINT);
  for (const line of lines) process.stderr.write(`dev-env: ${line}\n`);
  process.exitCode = 1;
}
