/** Makes kubelets follow their servers: created, powered on and off, deleted. */
import { CoreV1Api } from "@kubernetes/client-node";
import type { Cloud } from "../cloud/cloud.ts";
import { type Cluster, connect, type SimNode } from "../cluster/cluster.ts";
import { repeat } from "../cluster/repeat.ts";
import { markUnreachable, unmarkUnreachable } from "../cluster/unreachable.ts";
import type { Pods } from "./pods.ts";
import type { Say } from "./traffic.ts";

/** What machines are made of, and where they are announced. */
export interface MachineParts {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly pods: Pods;
  /** Id of the network whose servers are nodes of the cluster. */
  readonly network: number;
  readonly say: Say;
  /** How long a kubelet may be silent until its Node is NotReady. Default 5 s. */
  readonly graceMs?: number;
}

/** One server and its kubelet. */
type Machine = { readonly name: string; readonly podCidr: string } & (
  | { readonly state: "on"; readonly kubelet: SimNode }
  /** The kubelet is silent since this time, and its Node still looks Ready. */
  | { readonly state: "off"; readonly since: number }
  | { readonly state: "unreachable" }
);

const POLL_MS = 300;
/** A demo should not take longer; kube-controller-manager waits 50 s. */
const GRACE_MS = 5_000;

/** The machines of all servers in the cluster's network. */
export class Machines {
  readonly #parts: MachineParts;
  readonly #admin: CoreV1Api;
  readonly #machines = new Map<number, Machine>();
  readonly #ending = new AbortController();
  #following: Promise<void> = Promise.resolve();

  constructor(parts: MachineParts) {
    this.#parts = parts;
    this.#admin = connect(parts.cluster.kubeconfig, CoreV1Api);
  }

  /** Registers a node for every server, and follows the servers from then on. */
  async start(): Promise<void> {
    await this.#follow();
    this.#following = repeat(POLL_MS, () => this.#follow(), this.#ending.signal);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { cloud, network } = this.#parts;
    const members = cloud.state.servers.values().filter((it) => it.private_net.some((net) => net.network === network));
    const running = new Set(members.filter(({ status }) => status === "running").map(({ id }) => id));
    for (const id of running) await this.#powerOn(id);
    for (const [id, machine] of this.#machines) if (!running.has(id)) await this.#powerOff(id, machine);
  }

  async #powerOn(id: number): Promise<void> {
    const known = this.#machines.get(id);
    if (known?.state === "on") return;
    const { cloud, cluster, pods, say } = this.#parts;
    const server = cloud.state.servers.get(id);
    if (!server) return;
    const { name, private_net } = server;
    const podCidr = known?.podCidr ?? `10.244.${this.#machines.size + 1}.0/24`;
    const nodeIp = private_net[0]?.ip;
    // If the rest fails and the server goes off, its Node may look Ready and must become unreachable.
    this.#machines.set(id, { name, podCidr, state: "off", since: performance.now() });
    await unmarkUnreachable(this.#admin, name);
    const kubelet = await cluster.registerNode({ name, podCidrs: [podCidr], ...(nodeIp && { nodeIp }) });
    this.#machines.set(id, { name, podCidr, state: "on", kubelet });
    const address = cloud.backendOf(id);
    if (address) pods.add({ name, address });
    if (known) say("node", `${name}: the server runs again, kubelet reports Ready`);
    else say("node", `${name} registered with the taint "uninitialized" and pod range ${podCidr}`);
  }

  /** Stops the kubelet at once, and does what kube-controller-manager would do after the grace period. */
  async #powerOff(id: number, machine: Machine): Promise<void> {
    const { name, podCidr, state } = machine;
    const { cloud, say, graceMs = GRACE_MS } = this.#parts;
    if (state === "on") {
      await machine.kubelet.stop();
      this.#machines.set(id, { name, podCidr, state: "off", since: performance.now() });
      say("node", `${name}: the server is ${cloud.state.servers.get(id) ? "off" : "deleted"}, kubelet has stopped`);
    } else if (state === "off" && performance.now() - machine.since >= graceMs) {
      await markUnreachable(this.#admin, name);
      this.#machines.set(id, { name, podCidr, state: "unreachable" });
      say("node", `${name} is NotReady: kubelet stopped posting node status`);
    }
  }
}
