/** `lotse pulumi`: runs a reading command of Pulumi on a stack that shows the cloud at this moment. */
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../diagnostics/errors.ts";
import type { Given } from "../command-line.ts";
import { commandConfig } from "../open.ts";
import { runIn, writeStack } from "./stack.ts";

/** Commands that only read, with the sub-commands of those that have some. */
const READING: Readonly<Record<string, readonly string[]>> = {
  preview: [],
  stack: ["", "ls", "output", "export", "history", "graph"],
  refresh: [],
  policy: ["ls", "validate-config"],
  plugin: ["ls"],
  about: [],
  whoami: [],
  version: [],
  help: [],
};

/** Why commands are refused, and which one to use instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  up: "`lotse run` makes changes, guarded and recorded; `lotse preview` shows them",
  destroy: "`lotse destroy` deletes what the cluster has in the cloud",
  refresh: "the stack is fresh already; `lotse pulumi refresh --preview-only` compares it with the cloud",
  import: "no import is needed; `lotse adopt` reports which load balancers a controller would take over",
  state: "the state is written from the cloud each time; change the Service, or the cloud",
  cancel: "there is nothing to cancel: the controller's runs hold no lock here",
  stack: "the stack is written from the cloud each time; `lotse stack export` prints the saved one",
};

/** Writes a fresh stack and runs `pulumi` on it. Returns its exit code. */
export async function pulumi({ flags, operands }: Given): Promise<number> {
  const refusal = refusalOf(operands);
  if (refusal !== undefined) throw new ConfigError([refusal]);
  const config = commandConfig(flags);
  const environment = await writeStack(config, flags);
  // The project's folder has Pulumi.yaml, which names the program of a preview.
  const cwd = fileURLToPath(new URL("../../../", import.meta.url));
  return runIn({ ...environment, PULUMI_STACK: config.clusterName }, "pulumi", operands, cwd);
}

/** Why a command of Pulumi is refused; undefined when it only reads. */
export function refusalOf([command = "help", ...rest]: readonly string[]): string | undefined {
  if (command.startsWith("-")) return "pulumi: put the command before its flags, e.g. `lotse pulumi preview --diff`";
  const known = READING[command];
  const [name = ""] = rest.filter((word) => !word.startsWith("-"));
  // After a flag it may also be the value of that flag, and the command may follow.
  if (known?.length && name && rest[0] !== name)
    return `pulumi ${command}: put its subcommand before its flags, e.g. \`lotse pulumi stack output --json\``;
  const isReading = known && (known.length === 0 || known.includes(name));
  const previews = rest.filter((word) => word.startsWith("--preview-only"));
  const isPreview =
    command !== "refresh" || (previews.length > 0 && previews.every((word) => word === "--preview-only"));
  if (isReading && isPreview) return undefined;
  const full = known && name ? `${command} ${name}` : command;
  const instead = INSTEAD[command === "update" || command === "watch" ? "up" : command];
  return `pulumi ${full} is refused: ${instead ?? "only read-only commands are allowed here"}`;
}
