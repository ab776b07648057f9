/** The command line `lotse`: its commands, their flags, and their help. */
import { Command } from "commander";
import packageJson from "../package.json" with { type: "json" };
import type { Flag, FlagValues } from "./flags.ts";

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
  const command = new Command(name).description(summary);
  if (operands) command.arguments(operands);
  for (const { name: flag, value, doc } of flags) {
    command.option(`${flag.length === 1 ? `-${flag}, ` : ""}--${flag}${value ? ` ${value}` : ""}`, doc);
  }
  if (epilogue) command.addHelpText("after", `\n${epilogue}`);
  return command.action(async () => {
    process.exitCode = (await action({ flags: flagValues(command, flags), operands: command.args })) ?? 0;
  });
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
