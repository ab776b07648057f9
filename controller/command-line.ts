/** The command line `lotse`: its commands, their flags, and their help. */
import { Command } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { FLAGS, type FlagValues } from "./config.ts";

/** The command line; `run` is called with the values of its flags. */
export function commandLine(run: (flags: FlagValues) => Promise<void>): Command {
  const program = new Command("lotse")
    .description("Kubernetes cloud-controller-manager for Hetzner Cloud; every cloud change is a Pulumi change")
    .version(packageJson.version);
  const command = program.command("run").description("run the controller");
  for (const { name, value, doc } of FLAGS) {
    command.option(`${name.length === 1 ? `-${name}, ` : ""}--${name}${value ? ` ${value}` : ""}`, doc);
  }
  command.action(() => run(flagValues(command)));
  return program;
}

/** Values by flag name, as they are written on the command line. */
function flagValues(command: Command): FlagValues {
  const entries = FLAGS.map(({ name }) => {
    const attribute = command.options.find(({ long }) => long === `--${name}`)?.attributeName() ?? name;
    const value: string | boolean | undefined = command.getOptionValue(attribute);
    // Manifests written for Go programs say -v=2.
    return [name, typeof value === "string" ? value.replace(/^=/, "") : value] as const;
  });
  return Object.fromEntries(entries);
}
