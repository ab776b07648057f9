/** The command line of `lotse`: commands, flags and help, built with commander. */
import { Command, Option } from "commander";
import type { Flag, FlagValues } from "../config/flags.ts";
import { programVersion } from "../diagnostics/version.ts";

/** A command of `lotse`. */
export interface CommandDefinition {
  readonly name: string;
  readonly summary: string;
  /** Positional arguments in commander's notation, e.g. `<plan>` or `[service]`. */
  readonly operands?: string;
  readonly flags: readonly Flag[];
  /** Whether flags after the first operand belong to another program. */
  readonly isWrapper?: boolean;
  /** Help text after the list of flags: examples and exit codes. */
  readonly epilogue?: string;
  /** Returns the exit code, by default 0. Throws a ConfigError for mistakes. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most actions return no exit code
  action(given: Given): Promise<number | void>;
}

/** Flags and operands that a command was called with. */
export interface Given {
  readonly flags: FlagValues;
  readonly operands: readonly string[];
}

/** Builds the command line of the program with this name. The action of a command sets `process.exitCode`. */
export function commandLine(commands: readonly CommandDefinition[], name = "lotse"): Command {
  const program = new Command(name)
    .description("Kubernetes cloud-controller-manager for Hetzner Cloud that makes every cloud change through Pulumi")
    .version(programVersion())
    .enablePositionalOptions();
  for (const definition of commands) program.addCommand(commandOf(definition));
  return program;
}

function commandOf({ name, summary, operands, flags, isWrapper, epilogue, action }: CommandDefinition): Command {
  const command = new SubCommand(name).description(summary);
  if (operands) command.arguments(operands);
  for (const flag of flags) command.addOption(optionOf(flag));
  if (isWrapper) command.passThroughOptions();
  if (epilogue) command.addHelpText("after", `\n${epilogue}`);
  return command.action(async () => {
    process.exitCode = (await action({ flags: flagValues(command), operands: command.args })) ?? 0;
  });
}

/** Reports an unknown flag without its value, so that commander can suggest the right one. */
class SubCommand extends Command {
  unknownOption(flag: string): void {
    const named = Command.prototype as unknown as { unknownOption(flag: string): void };
    named.unknownOption.call(this, flag.replace(/=.*$/s, ""));
  }
}

/** Flags without effect are accepted but not shown in the help. */
function optionOf({ name, value, doc, section, ignored, repeats, conflicts = [] }: Flag): Option {
  const option = new Option(`${name.length === 1 ? `-${name}, ` : ""}--${name}${value ? ` ${value}` : ""}`, doc);
  if (section) option.helpGroup(`${section}:`);
  if (ignored) option.hideHelp();
  if (repeats)
    option.argParser((given: string, before?: string) => (before === undefined ? given : before + repeats + given));
  // Its value is found under the name of the flag, not in camel case.
  return Object.assign(option.conflicts([...conflicts]), { attributeName: () => name });
}

/** Values by flag name, as given on the command line. */
function flagValues(command: Command): FlagValues {
  const given = Object.entries(command.opts<FlagValues>());
  // Manifests written for Go programs contain -v=2.
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === "string" ? value.replace(/^=/, "") : value]),
  );
}
