#!/usr/bin/env node
/** The program `lotse`: its commands, and its exit code. */
import { type CommandDefinition, commandLine } from "./commands/command-line.ts";
import { OTHER_COMMANDS } from "./commands/definitions.ts";
import { run } from "./commands/run.ts";
import { RUN_FLAGS } from "./config/flags.ts";
import { CcmError, ConfigError } from "./diagnostics/errors.ts";
import { oneLine } from "./diagnostics/printable.ts";

const COMMANDS: readonly CommandDefinition[] = [
  {
    name: "run",
    summary: "run the controller",
    flags: RUN_FLAGS,
    epilogue:
      "Accepts the flags of other cloud-controller-managers; docs/reference/options.md lists those without effect, and why.",
    action: ({ flags }) => run(flags),
  },
  ...OTHER_COMMANDS,
  {
    name: "completion",
    summary: "print a shell completion script",
    operands: "<bash|zsh|fish>",
    flags: [],
    epilogue: 'Example: eval "$(lotse completion bash)"',
    action: async (given) => (await import("./commands/completion.ts")).completion(COMMANDS, given),
  },
];

if (import.meta.main) {
  try {
    await commandLine(COMMANDS).parseAsync();
  } catch (error) {
    const known = error instanceof CcmError ? error.message : String(error);
    for (const line of error instanceof ConfigError ? error.mistakes : [known])
      process.stderr.write(`lotse: ${oneLine(line)}\n`);
    process.exitCode = 1;
  }
}
