/** Runs programs of the operating system: `ip`, `nft`, `mount`, in this network namespace or in another. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** Runs a program to completion and returns its output. Rejects with its error message if it fails. */
export async function run(command: string, args: readonly string[], input = ""): Promise<string> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  const code = new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  child.stdin.on("error", () => {}); // A program that fails early does not read its input; its exit code says so.
  child.stdin.end(input);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if ((await code) === 0) return output;
  throw new Error(`${command} ${args.join(" ")}: ${errors.trim() || output.trim() || `exit code ${await code}`}`);
}

/** Runs a program in a named network namespace. Unlike `ip netns exec`, this keeps /sys with its cgroups. */
export function runIn(namespace: string, command: string, args: readonly string[], input = ""): Promise<string> {
  return run("nsenter", [`--net=/run/netns/${namespace}`, command, ...args], input);
}

/** Performs `ip` commands in one process; the first that fails ends it. Without a namespace, in this one. */
export async function ip(commands: readonly string[], namespace?: string): Promise<void> {
  if (commands.length === 0) return;
  const where = namespace === undefined ? [] : ["-netns", namespace];
  await run("ip", [...where, "-batch", "-"], `${commands.join("\n")}\n`);
}

/** Creates a named network namespace that forwards packets between its links. */
export async function addRouter(namespace: string): Promise<void> {
  await run("ip", ["netns", "add", namespace]);
  await ip(["link set lo up"], namespace);
  await runIn(namespace, "sysctl", ["-qw", ...FORWARDING]);
}

/** Kernel settings of everything that forwards packets. Reverse path checks would drop packets of asymmetric routes. */
export const FORWARDING = [
  "net.ipv4.ip_forward=1",
  "net.ipv4.conf.all.rp_filter=0",
  "net.ipv4.conf.default.rp_filter=0",
];
