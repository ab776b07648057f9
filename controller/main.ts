#!/usr/bin/env node
/** The program `lotse`: its commands, and its exit code. */
import { type CommandDefinition, commandLine } from "./commands/command-line.ts";
import { OTHER_COMMANDS } from "./commands/definitions.ts";
import { RUN_FLAGS } from "./config/flags.ts";
import { CcmError, ConfigError } from "./diagnostics/errors.ts";
import { outliveReader } from "./diagnostics/paint.ts";
import { oneLine } from "./diagnostics/printable.ts";

/** The plugin of kubectl sets the title; see dev-env/package. */
const NAME = process.title === "kubectl lotse" ? process.title : "lotse";

const COMMANDS: readonly CommandDefinition[] = [
  {
    name: "run",
    summary: "run the controller",
    flags: RUN_FLAGS,
    epilogue:
      "Accepts the flags of other cloud-controller-managers; docs/reference/options.md lists those without effect, and why.",
    action: async ({ flags }) => (await import("./commands/run.ts")).run(flags),
  },
  ...OTHER_COMMANDS,
  {
    name: "completion",
    summary: "print a shell completion script",
    operands: "<bash|zsh|fish|kubectl>",
    flags: [],
    epilogue: `Examples:
  eval "$(lotse completion bash)"
  lotse completion kubectl > ~/.local/bin/kubectl_complete-lotse    # with kubectl, for the plugin`,
    action: async (given) => (await import("./commands/completion.ts")).completion(COMMANDS, given),
  },
];

if (import.meta.main) {
  if (process.argv[2] !== "run") outliveReader();
  try {
    await commandLine(COMMANDS, NAME).parseAsync();
  } catch (error) {
    const known = error instanceof CcmError ? error.message : String(error);
    for (const line of error instanceof ConfigError ? error.mistakes : [known])
      process.stderr.write(`lotse: ${oneLine(line)}\n`);
    process.exitCode = 1;
  }
}
