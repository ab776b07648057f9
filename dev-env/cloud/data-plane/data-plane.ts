/** Opens and closes sockets until they match the load balancers of the project. */

import type { DataPlaneOptions } from "../options.ts";
import { settle } from "../resources/effects.ts";
import type { Project } from "../state/project.ts";
import { HealthChecker } from "./health-checker.ts";
import { openHttpListener } from "./http-listener.ts";
import { type Backend, type ListenerPlan, planListeners } from "./plan.ts";
import { Pool } from "./pool.ts";
import { loopbackReach, type Reach, routedReach } from "./reach.ts";
import { openTcpListener } from "./tcp-listener.ts";

const TICK_MS = 100;

interface Running {
  readonly shape: string;
  readonly pool: Pool;
  /** Resolves to what closes the socket; to nothing if it could not be opened. */
  readonly opening: Promise<(() => Promise<void>) | undefined>;
}

/** Makes the load balancers of a project listen, forward traffic, and check their targets. */
export class DataPlane {
  readonly #project: Project;
  readonly #reach: Reach;
  readonly #checker: HealthChecker;
  readonly #running = new Map<string, Running>();
  readonly #problems = new Map<string, string>();
  #closing: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #seenRevision = -1;

  constructor(project: Project, { timeScale = 1, isRouted = false }: DataPlaneOptions) {
    this.#project = project;
    this.#reach = isRouted ? routedReach(project) : loopbackReach(project);
    this.#checker = new HealthChecker(project.health, timeScale);
  }

  /** Sockets that could not be opened, e.g. `127.16.1.1:80: EACCES`. */
  get problems(): readonly string[] {
    return [...this.#problems.values()];
  }

  /** Follows the project from now on. It also polls, because running actions change the project without a request. */
  start(): void {
    this.#timer = setInterval(() => this.sync(), TICK_MS).unref();
    this.sync();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#checker.stop();
    this.#reconcile([]);
    await this.#closing;
  }

  /** Updates sockets and health checks if the project has changed. */
  sync(): void {
    settle(this.#project);
    if (this.#project.revision === this.#seenRevision) return;
    this.#seenRevision = this.#project.revision;
    const plans = planListeners(this.#project, this.#reach);
    this.#reconcile(plans);
    this.#checker.sync(plans.filter(({ isFirst }) => isFirst));
  }

  /** Resolves when every socket is open or has failed, and every target has been checked. */
  async ready(): Promise<void> {
    this.sync();
    await this.#closing;
    await Promise.all([...this.#running.values()].map(({ opening }) => opening));
    while (!this.#checker.hasCheckedAll) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  #reconcile(plans: readonly ListenerPlan[]): void {
    const wanted = new Map(plans.map((plan) => [plan.key, plan]));
    for (const [key, running] of this.#running) {
      const plan = wanted.get(key);
      if (plan && shapeOf(plan) === running.shape) running.pool.plan = plan;
      else this.#close(key, running);
    }
    for (const [key, plan] of wanted) {
      if (!this.#running.has(key)) this.#open(key, plan);
    }
  }

  #open(key: string, plan: ListenerPlan): void {
    const pool = new Pool(plan, (current, backend) => this.#isHealthy(current, backend));
    // A socket with the same address may still be closing.
    const opening = this.#closing
      .then(() => (plan.kind === "tcp" ? openTcpListener(pool) : openHttpListener(pool)))
      .catch((error: Error) => {
        this.#problems.set(key, `${key}: ${error.message}`);
        return undefined;
      });
    this.#running.set(key, { shape: shapeOf(plan), pool, opening });
  }

  #close(key: string, { opening }: Running): void {
    this.#running.delete(key);
    this.#problems.delete(key);
    const closed = opening.then((close) => close?.());
    this.#closing = Promise.all([this.#closing, closed]);
  }

  #isHealthy({ loadBalancer, service }: ListenerPlan, { target }: Backend): boolean {
    const probe = { loadBalancer, listenPort: service.listen_port, target };
    return this.#project.health.get(probe).status === "healthy";
  }
}

/** Properties that cannot change while a socket is open. */
function shapeOf({ loadBalancer, kind, service }: ListenerPlan): string {
  return JSON.stringify([loadBalancer, kind, service.http?.timeout_idle]);
}
