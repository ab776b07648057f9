/** Makes machines follow the servers of the cloud: created, powered on and off, rebooted, attached, deleted. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Cloud } from "../cloud/cloud.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { linkStore } from "./images/store.ts";
import { Machine, type MachineOptions } from "./machine/machine.ts";
import { filesIn } from "./machine/settings.ts";
import type { FirewalledServer } from "./network/firewall.ts";
import { type Host, namesOf } from "./network/layout.ts";
import type { Network } from "./network/network.ts";

/** What machines are made of. */
export interface FleetParts {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly network: Network;
  /** Id of the private network in the cloud. */
  readonly networkId: number;
  /** Folder for the files of all machines. */
  readonly dir: string;
  /** The cgroup of the world. */
  readonly cgroup: string;
  /** containerd's store with all images. */
  readonly store: string;
  readonly machine: Pick<MachineOptions, "tools" | "hierarchies" | "runc" | "isCloudExternal">;
  /** Settings of kube-proxy, by the name of the server. */
  readonly proxyOf: (server: string) => MachineOptions["proxy"];
  /** Receives one line for each thing that happens to a machine. */
  readonly say: (text: string) => void;
}

type Server = ReturnType<Cloud["state"]["servers"]["values"]>[number];

interface Entry {
  readonly name: string;
  /** Rejects if the machine could not be booted. */
  readonly booting: Promise<Machine>;
}

/** Actions end without a request, so that the cloud is also polled. */
const POLL_MS = 100;
const REBOOTS: ReadonlySet<string> = new Set(["reboot_server", "reset_server"]);

/** The machines of all servers. */
export class Fleet {
  readonly #parts: FleetParts;
  readonly #machines = new Map<number, Entry>();
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #seen = "";
  #lastAction = 0;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  /** Boots a machine for every running server, and follows the cloud from then on. Does not wait for kubelets. */
  async start(): Promise<void> {
    const follow = () => void this.sync().catch((error: Error) => this.#parts.say(`network: ${error.message}`));
    this.#parts.cloud.onWrite(follow);
    this.#timer = setInterval(follow, POLL_MS);
    await this.sync();
    await Promise.all([...this.#machines.values()].map(({ booting }) => booting));
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#syncing.catch(() => {});
    const machines = [...this.#machines.values()].map(({ booting }) => booting.then((machine) => machine.powerOff()));
    await Promise.allSettled(machines);
  }

  /** Applies the state of the cloud to network and machines. Calls are performed one after another. */
  sync(): Promise<void> {
    this.#syncing = this.#syncing.catch(() => {}).then(() => this.#apply());
    return this.#syncing;
  }

  /** A running machine by the name of its server. */
  async machine(name: string): Promise<Machine> {
    const entry = [...this.#machines.values()].find((it) => it.name === name);
    if (!entry) throw new Error(`machine ${name} is off`);
    return entry.booting;
  }

  async #apply(): Promise<void> {
    const { cloud, network, networkId } = this.#parts;
    const servers = cloud.state.servers.values();
    const rebooted = this.#takeReboots();
    const state = {
      routes: cloud.state.networks.get(networkId)?.routes ?? [],
      balancers: cloud.state.loadBalancers
        .values()
        .flatMap(({ private_net }) => private_net.filter((it) => it.network === networkId).map(({ ip }) => ip)),
    };
    const firewalls = servers.flatMap((server) => firewallsOf(cloud, server));
    const hosts = servers.map((server) => ({ server, host: hostOf(server, networkId) }));
    const seen = JSON.stringify([state, firewalls, hosts]);
    if (seen === this.#seen && rebooted.size === 0) return;
    await this.#followServers(hosts, rebooted);
    await network.update(state);
    await network.setFirewalls(firewalls);
    this.#seen = seen;
  }

  async #followServers(hosts: readonly { server: Server; host: Host }[], rebooted: ReadonlySet<number>): Promise<void> {
    const running = new Map(hosts.filter(({ server }) => server.status === "running").map((it) => [it.host.id, it]));
    for (const id of [...this.#machines.keys()]) {
      if (!running.has(id) || rebooted.has(id)) await this.#powerOff(id);
    }
    const existing = new Set(hosts.filter(({ server }) => server.status !== "rebuilding").map(({ host }) => host.id));
    await this.#deleteDisks(existing);
    for (const [id, { server, host }] of running) {
      if (this.#machines.has(id)) await this.#parts.network.attach(host);
      else await this.#powerOn(server, host);
    }
  }

  readonly #disks = new Set<number>();

  async #deleteDisks(existing: ReadonlySet<number>): Promise<void> {
    for (const id of this.#disks) {
      if (existing.has(id)) continue;
      await rm(this.#dirOf(id), { recursive: true, force: true });
      this.#disks.delete(id);
    }
  }

  async #powerOn(server: Server, host: Host): Promise<void> {
    const { network, say } = this.#parts;
    await network.connect(host);
    const booting = this.#boot(server, host);
    this.#machines.set(server.id, { name: server.name, booting });
    booting.then(
      () => say(`${server.name}: booted, kubelet started`),
      (error: Error) => say(`${server.name}: ${error.message}`),
    );
  }

  async #boot({ id, name }: Server, host: Host): Promise<Machine> {
    const { cluster, cgroup, store, machine, proxyOf } = this.#parts;
    const dir = this.#dirOf(id);
    const files = filesIn(dir);
    if (!this.#disks.has(id)) {
      this.#disks.add(id);
      await mkdir(dir, { recursive: true });
      await linkStore(store, join(dir, "containerd"));
      const node = { name: `system:node:${name}`, groups: ["system:nodes"] };
      await cluster.writeKubeconfig(node, files.kubeletAccess);
      await cluster.writeKubeconfig({ name: "system:kube-proxy" }, files.kubeProxyAccess);
    }
    return Machine.boot({
      ...machine,
      name,
      dir,
      cgroup: `${cgroup}/${name}-${id}`,
      binDir: machine.tools.binDir,
      authority: cluster.authority,
      namespace: namesOf(id).namespace,
      nodeIp: host.privateIps[0] ?? host.publicIp,
      proxy: proxyOf(name),
    });
  }

  async #powerOff(id: number): Promise<void> {
    const entry = this.#machines.get(id);
    if (!entry) return;
    this.#machines.delete(id);
    // A machine that did not boot has nothing to power off.
    await entry.booting.then((machine) => machine.powerOff()).catch(() => {});
    await this.#parts.network.disconnect(id);
    this.#parts.say(`${entry.name}: powered off`);
  }

  /** Servers for which a reboot was requested since the last call. */
  #takeReboots(): ReadonlySet<number> {
    const actions = this.#parts.cloud.state.actions.values().filter(({ id }) => id > this.#lastAction);
    this.#lastAction = Math.max(this.#lastAction, ...actions.map(({ id }) => id));
    const reboots = actions.filter(({ command }) => REBOOTS.has(command));
    return new Set(reboots.flatMap(({ resources }) => resources.map(({ id }) => id)));
  }

  #dirOf(id: number): string {
    return join(this.#parts.dir, `server-${id}`);
  }
}

function hostOf(server: Server, networkId: number): Host {
  const attachment = server.private_net.find(({ network }) => network === networkId);
  return {
    id: server.id,
    publicIp: server.public_net.ipv4?.ip,
    privateIps: attachment ? [attachment.ip, ...attachment.alias_ips] : [],
  };
}

/** The rules of all firewalls of a server. A server without firewalls is not filtered, unlike one without rules. */
function firewallsOf(cloud: Cloud, { id, public_net }: Server): readonly FirewalledServer[] {
  const own = public_net.firewalls.map((firewall) => cloud.state.firewalls.get(firewall.id));
  return own.length === 0 ? [] : [{ id, rules: own.flatMap((firewall) => firewall?.rules ?? []) }];
}
