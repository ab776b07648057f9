/** What this computer must offer to run machines. */
import { execFileSync } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { parseHierarchies } from "./machine/cgroups.ts";

/** Programs that come from the distribution, with the Debian package that contains each. */
const PROGRAMS: Readonly<Record<string, string>> = {
  ip: "iproute2",
  nft: "nftables",
  iptables: "iptables",
  runc: "runc",
  unshare: "util-linux",
  nsenter: "util-linux",
  sysctl: "procps",
  tar: "tar",
  git: "git",
};
/** Control plane and three machines take about 1 GB. */
const NEEDED_MB = 1200;
/** The map outside of user namespaces. */
const ALL_USERS = "0 0 4294967295";
const FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Facts about a computer, for tests to replace. */
export interface Computer {
  readonly platform: string;
  readonly isRoot: boolean;
  /** /proc/self/uid_map: which users exist in this user namespace. */
  readonly uidMap: string;
  readonly availableMb: number;
  readonly mountInfo: string;
  readonly find: (program: string) => string | undefined;
  /** Tries to create the namespaces and mounts of a world. Throws with the reason if that is not permitted. */
  readonly tryNamespaces: () => void;
}

/** Everything that is missing, as sentences that say what to do. Empty if machines can run. */
export function missingFor(computer: Computer): readonly string[] {
  if (computer.platform !== "linux") return [`real nodes need Linux, and this is ${computer.platform}`];
  if (!computer.isRoot) return ["real nodes need root, for namespaces, mounts and cgroups: run the command with sudo"];
  if (computer.uidMap.trim().split(/\s+/).join(" ") !== ALL_USERS) {
    return ["real nodes need root outside of user namespaces: inside one, Nodes do not become Ready"];
  }
  const missing = Object.keys(PROGRAMS).filter((program) => computer.find(program) === undefined);
  const packages = [...new Set(missing.map((program) => PROGRAMS[program]))];
  return [
    ...(missing.length > 0
      ? [`${missing.join(", ")} not found. To install: apt-get install --yes ${packages.join(" ")}`]
      : namespaceProblem(computer)),
    ...(parseHierarchies(computer.mountInfo).length > 0
      ? []
      : ["no cgroups are mounted: mount -t cgroup2 none /sys/fs/cgroup"]),
    ...(computer.availableMb >= NEEDED_MB
      ? []
      : [`${computer.availableMb} MB of memory are available, and three machines need ${NEEDED_MB} MB`]),
  ];
}

function namespaceProblem({ tryNamespaces }: Computer): readonly string[] {
  try {
    tryNamespaces();
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim().split("\n").at(-1) : error;
    return [`this computer does not permit namespaces and mounts, as in most containers: ${reason}`];
  }
}

/** This computer. */
export const thisComputer = (): Computer => ({
  platform: process.platform,
  isRoot: process.geteuid?.() === 0,
  uidMap: textOf("/proc/self/uid_map"),
  availableMb: Math.floor(freemem() / 2 ** 20),
  mountInfo: textOf("/proc/self/mountinfo"),
  find: findProgram,
  tryNamespaces: () => {
    const attempt =
      "mount -t tmpfs tmpfs /run && ip link set lo up && nft list tables && mkdir /run/u /run/w && mount -t overlay -o lowerdir=/usr,upperdir=/run/u,workdir=/run/w overlay /mnt";
    execFileSync("unshare", ["--net", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", attempt], {
      stdio: "pipe",
    });
  },
});

/** Path of a program; undefined if it is not installed. */
export function findProgram(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(":"), ...FOLDERS];
  return folders.map((folder) => join(folder, program)).find((path) => isExecutable(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
