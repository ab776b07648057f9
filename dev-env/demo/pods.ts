/** Answers on the node ports of all Services on every node, as pods behind kube-proxy would. */
import { setTimeout } from "node:timers/promises";
import { CoreV1Api, type V1Service } from "@kubernetes/client-node";
import { connect } from "../cluster/cluster.ts";
import { type Answer, PodPort } from "./pod-port.ts";

/** A node, and the loopback address at which the data plane reaches it. */
export interface Machine {
  readonly name: string;
  readonly address: string;
}

const POLL_MS = 300;

/** HTTP servers that come and go with the node ports of Services. */
export class Pods {
  readonly #core: CoreV1Api;
  readonly #machines: Map<string, Machine>;
  /** Open ports by `address:port`. */
  readonly #ports = new Map<string, PodPort>();
  /** The nodes that run pods of a Service; a Service that is not listed has pods on every node. */
  readonly #nodesOf = new Map<string, ReadonlySet<string>>();
  readonly #ended = new AbortController();
  #services: readonly V1Service[] = [];
  #polling: Promise<void> = Promise.resolve();

  constructor(kubeconfig: string, machines: readonly Machine[] = []) {
    this.#core = connect(kubeconfig, CoreV1Api);
    this.#machines = new Map(machines.map((machine) => [machine.name, machine]));
  }

  /** Adds a machine, or replaces the one of that name. */
  add(machine: Machine): void {
    this.#machines.set(machine.name, machine);
  }

  start(): void {
    this.#polling = this.#poll();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#polling;
    for (const [key, port] of this.#ports) this.#close(key, port);
  }

  /** The Service with this UID, as `namespace/name`. */
  serviceOf(uid: string): string | undefined {
    const service = this.#services.find(({ metadata }) => metadata?.uid === uid);
    return service && nameOf(service);
  }

  /** Moves the pods of a Service, `namespace/name`, to these nodes. */
  place(service: string, nodes: readonly string[]): void {
    this.#nodesOf.set(service, new Set(nodes));
  }

  /** Crashes a machine: nothing answers there from now on. */
  crash(name: string): void {
    this.#machines.delete(name);
    this.#openPorts();
  }

  async #poll(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      // If the API server does not answer, the next poll retries.
      const services = await this.#core.listServiceForAllNamespaces().catch(() => undefined);
      if (services) this.#services = services.items;
      this.#openPorts();
      await setTimeout(POLL_MS, undefined, { signal: this.#ended.signal }).catch(() => {});
    }
  }

  /** Opens and closes ports until they match the Services. */
  #openPorts(): void {
    const wanted = new Map<string, () => PodPort>();
    for (const { name, address } of this.#machines.values()) {
      for (const [port, answer] of this.#services.flatMap((service) => this.#answersOf(service, name))) {
        wanted.set(`${address}:${port}`, () => new PodPort(address, port, answer));
      }
    }
    for (const [key, port] of this.#ports) if (!wanted.has(key)) this.#close(key, port);
    for (const [key, open] of wanted) if (!this.#ports.has(key)) this.#ports.set(key, open());
  }

  /**
   * Answers of a machine on the ports of a Service. When its pods have moved away, the terminating ones still answer
   * and only the health-check node port reports 503, as with kube-proxy.
   */
  #answersOf(object: V1Service, machine: string): readonly (readonly [number, Answer])[] {
    const { spec } = object;
    const service = nameOf(object);
    const text = `${service} on ${machine}`;
    const ports = (spec?.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
    const served = ports.map((port) => [port, () => ({ status: 200, text })] as const);
    if (!spec?.healthCheckNodePort) return served;
    const hasPods = () => this.#nodesOf.get(service)?.has(machine) ?? true;
    return [...served, [spec.healthCheckNodePort, () => ({ status: hasPods() ? 200 : 503, text })]];
  }

  #close(key: string, port: PodPort): void {
    this.#ports.delete(key);
    port.close();
  }
}

function nameOf({ metadata }: V1Service): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}
