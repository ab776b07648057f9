/** Answers on the node ports of all Services, on every node, as pods behind kube-proxy would. */
import { setTimeout } from "node:timers/promises";
import { CoreV1Api, type V1Service } from "@kubernetes/client-node";
import { connect } from "../cluster/cluster.ts";
import { type Answer, Door } from "./pod-port.ts";

/** A node and the loopback address under which the data plane looks for it. */
export interface Machine {
  readonly name: string;
  readonly address: string;
}

const LOOK_EVERY_MS = 300;

/** Web servers that come and go with the node ports. */
export class Pods {
  readonly #core: CoreV1Api;
  readonly #machines: Map<string, Machine>;
  readonly #doors = new Map<string, Door>();
  /** Nodes that run pods of a Service; one that is not listed has pods everywhere. */
  readonly #homes = new Map<string, ReadonlySet<string>>();
  readonly #ended = new AbortController();
  #services: readonly V1Service[] = [];
  #looking: Promise<void> = Promise.resolve();

  constructor(kubeconfig: string, machines: readonly Machine[]) {
    this.#core = connect(kubeconfig, CoreV1Api);
    this.#machines = new Map(machines.map((machine) => [machine.name, machine]));
  }

  start(): void {
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#looking;
    for (const [key, door] of this.#doors) this.#close(key, door);
  }

  /** Moves the pods of a Service, `namespace/name`, to these nodes. */
  place(service: string, nodes: readonly string[]): void {
    this.#homes.set(service, new Set(nodes));
  }

  /** Lets a machine die: nothing answers there any more. */
  crash(name: string): void {
    this.#machines.delete(name);
    this.#follow();
  }

  async #look(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      // An API server that is busy or away is asked again a moment later.
      const services = await this.#core.listServiceForAllNamespaces().catch(() => undefined);
      if (services) this.#services = services.items;
      this.#follow();
      await setTimeout(LOOK_EVERY_MS, undefined, { signal: this.#ended.signal }).catch(() => {});
    }
  }

  #follow(): void {
    const wanted = new Map<string, () => Door>();
    for (const { name, address } of this.#machines.values()) {
      for (const [port, answer] of this.#services.flatMap((service) => this.#answersOf(service, name))) {
        wanted.set(`${address}:${port}`, () => new Door(address, port, answer));
      }
    }
    for (const [key, door] of this.#doors) if (!wanted.has(key)) this.#close(key, door);
    for (const [key, open] of wanted) if (!this.#doors.has(key)) this.#doors.set(key, open());
  }

  /**
   * What a machine says on the ports of a Service. Where it has no pods any more, those that are on their way out still
   * answer; only the port for health checks says that nobody should come, as kube-proxy does.
   */
  #answersOf({ metadata, spec }: V1Service, machine: string): readonly (readonly [number, Answer])[] {
    const service = `${metadata?.namespace}/${metadata?.name}`;
    const text = `${service} on ${machine}`;
    const ports = (spec?.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
    const served = ports.map((port) => [port, () => ({ status: 200, text })] as const);
    if (!spec?.healthCheckNodePort) return served;
    const isHome = () => this.#homes.get(service)?.has(machine) ?? true;
    return [...served, [spec.healthCheckNodePort, () => ({ status: isHome() ? 200 : 503, text })]];
  }

  #close(key: string, door: Door): void {
    this.#doors.delete(key);
    door.close();
  }
}
