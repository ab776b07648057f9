/** Runs programs of the operating system: `ip`, `nft`, `mount`, in this network namespace or in another. */
import { run } from "../toolchain/run.ts";

/** Runs a program in a named network namespace. Unlike `ip netns exec`, this keeps /sys with its cgroups. */
export function runIn(namespace: string, command: string, args: readonly string[]): Promise<string> {
  return run("nsenter", [`--net=/run/netns/${namespace}`, command, ...args]);
}

/** Performs `ip` commands in one process; the first that fails ends it. Without a namespace, in this one. */
export async function ip(commands: readonly string[], namespace?: string): Promise<void> {
  if (commands.length === 0) return;
  const where = namespace === undefined ? [] : ["-netns", namespace];
  await run("ip", [...where, "-batch", "-"], { input: `${commands.join("\n")}\n` });
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
