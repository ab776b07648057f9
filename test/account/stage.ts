/** What the steps of the suite work with: a cluster, and as much of the project as they may see. */
import { setTimeout as delay } from "node:timers/promises";
import type { CoreV1Api, V1LoadBalancerIngress, V1Service, V1ServiceSpec } from "@kubernetes/client-node";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import type { Certificate, LoadBalancer, Network, Server } from "../../controller/hcloud/api.ts";
import { ignoreMissing, isStatus } from "../../dev-env/cluster/api.ts";
import type { SimNode } from "../../dev-env/cluster/cluster.ts";
import type { ProjectApi } from "../../dev-env/project/api.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { prefixed } from "../support/builders.ts";

/** The suite's own project, which steps may change. */
export interface Machines {
  /** Changes the project through the proxy, which labels what it creates. */
  readonly api: ProjectApi;
  readonly networkId: number;
  /** Network zone of the servers. */
  readonly zone: string;
  /** The servers with their kubelets. */
  readonly nodes: readonly { readonly server: Server; readonly kubelet: SimNode; readonly podCidr: string }[];
}

export interface StageParts {
  readonly core: CoreV1Api;
  readonly namespace: string;
  /** Location of new load balancers; empty means the controller's default. */
  readonly location: string;
  readonly signal: AbortSignal;
  /** Reads the project; absent without a token. */
  readonly cloud?: ProjectApi;
  /** Absent in a cluster that others use, too. */
  readonly machines?: Machines;
  /** An HTTP server on port 80, for a pod; absent means that no pods can be started. */
  readonly image?: string;
  /** A domain whose DNS zone is hosted at Hetzner; absent means none. */
  readonly domain?: string;
  /** How long a step waits for what must become true. */
  readonly timeoutMs: number;
}

/** Annotations without their prefix, which may be preceded by a port: `443.protocol`. */
export type Annotations = Readonly<Record<string, string>>;

const POLL_MS = 300;

export class Stage {
  readonly parts: StageParts;

  constructor(parts: StageParts) {
    this.parts = parts;
  }

  get machines(): Machines {
    return this.parts.machines ?? missing("a project of its own");
  }

  get cloud(): ProjectApi {
    return this.parts.cloud ?? missing("HCLOUD_TOKEN");
  }

  /** Creates the Service, or replaces its annotations and the given part of its spec. The default location is added. */
  async apply(name: string, annotations: Annotations, spec: Partial<V1ServiceSpec> = {}): Promise<void> {
    const { core, namespace, location } = this.parts;
    const given = Object.entries({ location, ...annotations }).filter(([, value]) => value !== "");
    const metadata = { name, annotations: prefixed(Object.fromEntries(given)) };
    const body = { metadata, spec: { type: "LoadBalancer", ports: [{ name: "p80", port: 80 }], ...spec } };
    await core.createNamespacedService({ namespace, body }).catch(async (error: unknown) => {
      if (!isStatus(error, 409)) throw error;
      const replace = [
        { op: "replace", path: "/metadata/annotations", value: metadata.annotations },
        ...Object.entries(spec).map(([key, value]) => ({ op: "add", path: `/spec/${key}`, value })),
      ];
      await core.patchNamespacedService({ namespace, name, body: replace });
    });
  }

  service(name: string): Promise<V1Service> {
    return this.parts.core.readNamespacedService({ namespace: this.parts.namespace, name });
  }

  /** The addresses in the status of a Service. */
  async ingress(name: string): Promise<readonly V1LoadBalancerIngress[]> {
    return (await this.service(name)).status?.loadBalancer?.ingress ?? [];
  }

  /** Reasons and messages of the Events about a Service. */
  async events(name: string): Promise<readonly string[]> {
    const { core, namespace } = this.parts;
    const { items } = await core.listNamespacedEvent({ namespace, fieldSelector: `involvedObject.name=${name}` });
    return items.map(({ reason, message }) => `${reason}: ${message}`);
  }

  /** Waits until an Event about a Service matches; `what` describes it. */
  async untilEvent(what: string, name: string, pattern: RegExp): Promise<void> {
    await this.until(what, async () => {
      const events = await this.events(name);
      if (!events.some((event) => pattern.test(event))) throw new Error(events.join("; "));
    });
  }

  /** The load balancer of a Service, with its listeners in the order of their ports. */
  async balancer(name: string): Promise<LoadBalancer> {
    const uid = (await this.service(name)).metadata?.uid ?? "";
    const [found] = await this.balancers(uid);
    if (!found) throw new Error(`the project has no load balancer with the label ${SERVICE_UID_LABEL}=${uid}`);
    return { ...found, services: found.services.toSorted((a, b) => a.listen_port - b.listen_port) };
  }

  /** Load balancers that the controller created for a Service. */
  balancers(uid: string): Promise<readonly LoadBalancer[]> {
    return this.cloud.list<LoadBalancer>("load_balancers", `${SERVICE_UID_LABEL}=${uid}`);
  }

  /** Certificates that the controller created for a Service. */
  certificates(uid: string): Promise<readonly Certificate[]> {
    return this.cloud.list<Certificate>("certificates", `${SERVICE_UID_LABEL}=${uid}`);
  }

  async network(): Promise<Network> {
    const path = `/networks/${this.machines.networkId}`;
    return (await this.cloud.send<{ network: Network }>("GET", path)).network;
  }

  /** Deletes a Service, and waits until it is gone: its finalizer is released only when its load balancer is. */
  async remove(name: string): Promise<void> {
    const { core, namespace } = this.parts;
    await core.deleteNamespacedService({ namespace, name }).catch(ignoreMissing);
    await this.until(`Service ${name} is gone`, async () => {
      const { items } = await core.listNamespacedService({ namespace });
      if (items.some(({ metadata }) => metadata?.name === name)) throw new Error("it still has its finalizer");
    });
  }

  /** Repeats a probe until it no longer throws. At the deadline, throws what was awaited and why it did not happen. */
  async until<T>(what: string, probe: () => Promise<T>, timeoutMs = this.parts.timeoutMs): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      this.parts.signal.throwIfAborted();
      try {
        return await probe();
      } catch (error) {
        const seconds = Math.round(timeoutMs / 1000);
        if (performance.now() > deadline)
          throw new Error(`not within ${seconds} s: ${what}: ${messageOf(error)}`, { cause: error });
      }
      await delay(POLL_MS, undefined, { signal: this.parts.signal });
    }
  }
}

function missing(what: string): never {
  throw new Error(`this step needs ${what}`);
}
