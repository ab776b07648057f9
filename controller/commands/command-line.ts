/** The command line `lotse`: its commands, their flags, and their help. */
import { Command, Option } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import type { Flag, FlagValues } from "../config/flags.ts";

/** A command of `lotse`. */
export interface CommandDefinition {
  readonly name: string;
  readonly summary: string;
  /** Positional arguments as commander writes them, e.g. `<plan>` or `[service]`. */
  readonly operands?: string;
  readonly flags: readonly Flag[];
  /** Text behind the list of flags: examples, exit codes, what to do next. */
  readonly epilogue?: string;
  /** Returns the exit code; nothing means 0. Mistakes are thrown. */
  // biome-ignore lint/suspicious/noConfusingVoidType: an action that has nothing to say returns nothing
  action(given: Given): Promise<number | void>;
}

/** What a command was called with. */
export interface Given {
  readonly flags: FlagValues;
  readonly operands: readonly string[];
}

/** The command line. The exit code of a command is left in `process.exitCode`. */
export function commandLine(commands: readonly CommandDefinition[]): Command {
  const program = new Command("lotse")
    .description("Kubernetes cloud-controller-manager for Hetzner Cloud; every cloud change is a Pulumi change")
    .version(packageJson.version);
  for (const definition of commands) program.addCommand(commandOf(definition));
  return program;
}

function commandOf({ name, summary, operands, flags, epilogue, action }: CommandDefinition): Command {
  const command = new SubCommand(name).description(summary);
  if (operands) command.arguments(operands);
  for (const flag of flags) command.addOption(optionOf(flag));
  if (epilogue) command.addHelpText("after", `\n${epilogue}`);
  return command.action(async () => {
    process.exitCode = (await action({ flags: flagValues(command, flags), operands: command.args })) ?? 0;
  });
}

/** A command that knows a mistyped flag by its name alone, whatever value is written behind it. */
class SubCommand extends Command {
  unknownOption(flag: string): void {
    const named = Command.prototype as unknown as { unknownOption(flag: string): void };
    named.unknownOption.call(this, flag.replace(/=.*$/s, ""));
  }
}

/** Flags without effect are understood, and left out of the help. */
function optionOf({ name, value, doc, section, ignored, repeats }: Flag): Option {
  const option = new Option(`${name.length === 1 ? `-${name}, ` : ""}--${name}${value ? ` ${value}` : ""}`, doc);
  if (section) option.helpGroup(`${section}:`);
  if (ignored) option.hideHelp();
  if (repeats)
    option.argParser((given: string, before?: string) => (before === undefined ? given : `${before},${given}`));
  return option;
}

/** Values by flag name, as they are written on the command line. */
function flagValues(command: Command, flags: readonly Flag[]): FlagValues {
  const entries = flags.map(({ name }) => {
    const attribute = command.options.find(({ long }) => long === `--${name}`)?.attributeName() ?? name;
    const value: string | boolean | undefined = command.getOptionValue(attribute);
    // Manifests written for Go programs say -v=2.
    return [name, typeof value === "string" ? value.replace(/^=/, "") : value] as const;
  });
  return Object.fromEntries(entries);
}
