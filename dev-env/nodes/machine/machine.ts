/** A machine: namespaces with containerd, a kubelet and kube-proxy, which all end when it is powered off. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { acceptsConnections } from "../../cluster/loopback.ts";
import { ServerProcess } from "../../cluster/server-process.ts";
import { run } from "../../toolchain/run.ts";
import type { Toolchain } from "../../toolchain/toolchain.ts";
import { NETWORK_RANGE, POD_RANGE } from "../network/addresses.ts";
import { createGroup, type Hierarchy, removeGroup } from "./cgroups.ts";
import { filesIn, type MachineSettings, renderFiles } from "./settings.ts";

/** A machine to boot. Its folder must contain the kubeconfigs, and containerd's files with the images. */
export interface MachineOptions extends MachineSettings {
  readonly tools: Toolchain;
  /** Name of the network namespace, which exists already. */
  readonly namespace: string;
  readonly hierarchies: readonly Hierarchy[];
  /** The address that the kubelet reports; undefined leaves the choice to it. */
  readonly nodeIp: string | undefined;
  /** Whether the kubelet waits for a cloud controller: `--cloud-provider=external`. */
  readonly isCloudExternal: boolean;
}

/**
 * The first process of a machine. /run is new at every boot; changes to /var are kept in memory, so that the folders
 * that kubelet and CNI plugins require need not exist on this machine. The kubelet wants to change settings that belong
 * to the whole computer, and is shown files that already have the values it wants.
 */
const INIT = `
set -e
dir=$1
hostname "$2"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/var /run/work /run/sysctl
mount -t overlay -o lowerdir=/var,upperdir=/run/var,workdir=/run/work overlay /var
for name in containerd kubelet; do
  mkdir -p "$dir/$name" "/var/lib/$name"
  mount --bind "$dir/$name" "/var/lib/$name"
done
pretend() {
  echo "$2" > "/run/sysctl/$1"
  mount --bind "/run/sysctl/$1" "/proc/sys/$(echo "$1" | tr . /)"
}
pretend vm.overcommit_memory 1
pretend vm.panic_on_oom 0
pretend kernel.panic 10
pretend kernel.panic_on_oops 1
pretend kernel.keys.root_maxkeys 1000000
pretend kernel.keys.root_maxbytes 25000000
mount --make-rshared /
echo booted
# Waiting also reaps orphans.
sleep infinity & wait
`;

/** Pods leave through the public interface with the machine's address; in the private network they keep their own. */
const EGRESS = `
table ip egress {
  chain postrouting {
    type nat hook postrouting priority 100
    ip saddr ${POD_RANGE} ip daddr != ${NETWORK_RANGE} oifname "eth0" masquerade
  }
}
`;

const UNSHARE = ["--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"];

/** A machine that has been powered on. */
export class Machine {
  readonly #options: MachineOptions;
  readonly #outer: ChildProcess;
  /** Process id of its first process. */
  readonly #init: number;

  private constructor(options: MachineOptions, outer: ChildProcess, init: number) {
    this.#options = options;
    this.#outer = outer;
    this.#init = init;
  }

  /** Powers a machine on. Resolves when its kubelet has been started. */
  static async boot(options: MachineOptions): Promise<Machine> {
    const { dir, name, namespace, hierarchies, cgroup } = options;
    await mkdir(join(dir, "log"), { recursive: true });
    for (const [file, text] of Object.entries(renderFiles(options))) await writeFile(file, text);
    await createGroup(hierarchies, cgroup);
    const enter = [`--net=/run/netns/${namespace}`, "unshare", ...UNSHARE];
    const outer = spawn("nsenter", [...enter, "sh", "-c", INIT, "init", dir, name], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const machine = new Machine(options, outer, await initOf(outer, name));
    try {
      await machine.#start();
      return machine;
    } catch (error) {
      await machine.powerOff();
      throw error;
    }
  }

  /** Runs a program in the machine and returns its output. */
  run(command: string, args: readonly string[], input = ""): Promise<string> {
    return run("nsenter", [...this.#enter(), command, ...args], { input });
  }

  /** Kills everything in the machine at once, as when the power fails. Its disk is kept. */
  async powerOff(): Promise<void> {
    const { hierarchies, cgroup } = this.#options;
    if (this.#outer.exitCode === null && this.#outer.signalCode === null) {
      const ended = once(this.#outer, "close");
      this.#outer.kill("SIGKILL");
      await ended;
    }
    await removeGroup(hierarchies, cgroup);
  }

  async #start(): Promise<void> {
    const { dir, name, nodeIp, tools, isCloudExternal } = this.#options;
    const files = filesIn(dir);
    await this.run("nft", ["-f", "-"], EGRESS);
    const socket = `/proc/${this.#init}/root/run/containerd/containerd.sock`;
    const containerd = [tools.paths.containerd, "--config", files.containerd];
    await this.#launch("containerd", containerd, () => acceptsConnections(socket));
    const kubelet = [
      tools.paths["kube-node"],
      "kubelet",
      `--config=${files.kubelet}`,
      `--kubeconfig=${files.kubeletAccess}`,
      `--hostname-override=${name}`,
      ...(nodeIp === undefined ? [] : [`--node-ip=${nodeIp}`]),
      ...(isCloudExternal ? ["--cloud-provider=external"] : []),
    ];
    const proxy = [
      tools.paths["kube-node"],
      "kube-proxy",
      `--config=${files.kubeProxy}`,
      `--hostname-override=${name}`,
    ];
    await Promise.all([this.#launch("kubelet", kubelet), this.#launch("kube-proxy", proxy)]);
  }

  /** Starts a server in the machine. Its log is in the machine's folder. */
  async #launch(name: string, command: readonly string[], isReady = async () => true): Promise<void> {
    const { dir, tools } = this.#options;
    const server = new ServerProcess({
      name,
      command: "nsenter",
      args: [...this.#enter(), ...command],
      dir,
      logFile: join(dir, "log", `${name}.log`),
      env: { PATH: `${tools.binDir}:${process.env.PATH}` },
      isReady,
    });
    await server.start();
  }

  #enter(): readonly string[] {
    return [`--target=${this.#init}`, "--mount", "--uts", "--ipc", "--net", "--pid", "--"];
  }
}

/** Waits until the first process has finished its preparations, and returns its id. */
async function initOf(outer: ChildProcess, name: string): Promise<number> {
  let errors = "";
  outer.stderr?.on("data", (chunk: Buffer) => {
    errors += String(chunk);
  });
  const booted = outer.stdout && once(createInterface({ input: outer.stdout }), "line");
  const ended = once(outer, "close").then(() => {
    throw new Error(`machine ${name} did not boot: ${errors.trim()}`);
  });
  await Promise.race([booted, ended]);
  ended.catch(() => {}); // From now on, its end is a power-off.
  const children = await readFile(`/proc/${outer.pid}/task/${outer.pid}/children`, "utf8");
  return Number(children.trim());
}
