/** Answers on the node ports of all Services, on every node, as pods behind kube-proxy would. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { setTimeout } from "node:timers/promises";
import { CoreV1Api, type V1Service } from "@kubernetes/client-node";
import { connect } from "./cluster/cluster.ts";

/** A node and the loopback address under which the data plane looks for it. */
export interface Machine {
  readonly name: string;
  readonly address: string;
}

/** Where something listens, and what it says. */
interface Door {
  readonly address: string;
  readonly port: number;
  readonly answer: string;
}

const LOOK_EVERY_MS = 300;

/** Web servers that come and go with the node ports. */
export class Pods {
  readonly #core: CoreV1Api;
  readonly #machines: readonly Machine[];
  readonly #servers = new Map<string, Server>();
  readonly #ended = new AbortController();
  #looking: Promise<void> = Promise.resolve();

  constructor(kubeconfig: string, machines: readonly Machine[]) {
    this.#core = connect(kubeconfig, CoreV1Api);
    this.#machines = machines;
  }

  start(): void {
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#looking;
    for (const key of this.#servers.keys()) this.#close(key);
  }

  async #look(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      // An API server that is busy or away is asked again a moment later.
      const services = await this.#core.listServiceForAllNamespaces().catch(() => undefined);
      if (services) this.#follow(services.items);
      await setTimeout(LOOK_EVERY_MS, undefined, { signal: this.#ended.signal }).catch(() => {});
    }
  }

  #follow(services: readonly V1Service[]): void {
    const wanted = new Map<string, Door>(services.flatMap((service) => this.#portsOf(service)));
    for (const key of this.#servers.keys()) if (!wanted.has(key)) this.#close(key);
    for (const [key, { address, port, answer }] of wanted) {
      if (!this.#servers.has(key)) this.#servers.set(key, serve(address, port, answer));
    }
  }

  #portsOf({ metadata, spec }: V1Service): readonly (readonly [string, Door])[] {
    const ports = (spec?.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
    if (spec?.healthCheckNodePort) ports.push(spec.healthCheckNodePort);
    return this.#machines.flatMap(({ name, address }) =>
      ports.map((port) => {
        const answer = `${metadata?.namespace}/${metadata?.name} on ${name}\n`;
        return [`${address}:${port}`, { address, port, answer }] as const;
      }),
    );
  }

  #close(key: string): void {
    const server = this.#servers.get(key);
    this.#servers.delete(key);
    server?.closeAllConnections();
    server?.close();
  }
}

/** A port that somebody else has is theirs: the health check will say so. */
function serve(address: string, port: number, answer: string): Server {
  const server = createServer((request, response) => request.resume().once("end", () => response.end(answer)));
  server.listen(port, address);
  once(server, "listening").catch(() => {});
  return server;
}
