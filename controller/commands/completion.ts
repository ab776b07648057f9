/** `lotse completion`: scripts that complete commands and flags in a shell. */

import { ConfigError } from "../diagnostics/errors.ts";
import type { CommandDefinition, Given } from "./command-line.ts";

type Shell = (commands: readonly CommandDefinition[]) => string;

/** Prints the script for a shell. */
export async function completion(commands: readonly CommandDefinition[], { operands: [shell = ""] }: Given) {
  const render = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (!render)
    throw new ConfigError([`completion: ${JSON.stringify(shell)} is not one of ${Object.keys(SHELLS).join(", ")}`]);
  process.stdout.write(render(commands));
}

const flagsOf = ({ flags }: CommandDefinition) =>
  flags.map(({ name }) => (name.length === 1 ? `-${name}` : `--${name}`));

const bash: Shell = (commands) => `# eval "$(lotse completion bash)"
_lotse() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words="${commands.map(({ name }) => name).join(" ")}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${commands.map((command) => `      ${command.name}) words="${flagsOf(command).join(" ")}" ;;`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _lotse lotse
`;

const zsh: Shell = (commands) => `#compdef lotse
# lotse completion zsh > "\${fpath[1]}/_lotse"
autoload -U +X bashcompinit && bashcompinit
${bash(commands)}`;

const fish: Shell = (commands) => `# lotse completion fish | source
complete -c lotse -f -n __fish_use_subcommand -a "${commands.map(({ name }) => name).join(" ")}"
${commands
  .flatMap((command) =>
    command.flags.map(({ name }) => {
      const option = name.length === 1 ? `-s ${name}` : `-l ${name}`;
      return `complete -c lotse -n "__fish_seen_subcommand_from ${command.name}" ${option}`;
    }),
  )
  .join("\n")}
`;

/** kubectl completes a plugin's arguments with the program `kubectl_complete-<plugin>`. The number is cobra's: 4 means no files. */
const kubectl: Shell = (commands) => `#!/bin/sh
# Completion of "kubectl lotse" in every shell that completes kubectl: put this on PATH as kubectl_complete-lotse.
words="${commands.map(({ name }) => name).join(" ")}" files=4
if [ $# -gt 1 ]; then
  words="" files=0
  case "$1" in
${commands.map((command) => `    ${command.name}) words="${flagsOf(command).join(" ")}" ;;`).join("\n")}
  esac
fi
for last do :; done
for word in $words; do
  case "$word" in "$last"*) echo "$word" ;; esac
done
echo ":$files"
`;

const SHELLS: Readonly<Record<string, Shell>> = { bash, zsh, fish, kubectl };
