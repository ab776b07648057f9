import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { commandLine, type Given } from "../../../../controller/commands/command-line.ts";
import { OTHER_COMMANDS } from "../../../../controller/commands/definitions.ts";
import { commandConfig } from "../../../../controller/commands/open.ts";
import type { Config } from "../../../../controller/config/config.ts";
import { bannedIn } from "../../documents/banned-phrases.ts";

/** Examples are indented; they may name fields of the JSON output. */
const isProse = (line: string) => !line.startsWith("  ");

it.each(OTHER_COMMANDS)("the help of $name is free of banned phrases", ({ summary, epilogue = "" }) => {
  const prose = [summary, ...epilogue.split("\n").filter(isProse)].join("\n");
  expect(bannedIn(prose)).toEqual([]);
});

it.each(["status", "release", "destroy"])(
  "%s looks for the Lease where the controller was told to keep it",
  async (name) => {
    const leases: Config["lease"][] = [];
    const commands = OTHER_COMMANDS.filter((command) => command.name === name).map((command) => ({
      ...command,
      action: async ({ flags }: Given) =>
        void leases.push(commandConfig(flags, { HCLOUD_TOKEN: "t".repeat(64) }).lease),
    }));
    const flags = ["--leader-elect-resource-name", "pilot", "--leader-elect-resource-namespace", "pilots"];
    await commandLine(commands).parseAsync(["node", "lotse", name, ...flags]);
    expect(leases).toMatchObject([{ name: "pilot", namespace: "pilots" }]);
  },
);

it.each([
  ["completion", 0, /^$/],
  ["nonsense", 1, /unknown command/],
])("%s ends with its exit code although its output is not read", async (name, code, stderr) => {
  const child = spawn(process.execPath, ["controller/main.ts", name, "bash"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const [said, [ended]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect(said).toMatch(stderr);
  expect(ended).toBe(code);
});
