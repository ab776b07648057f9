/** Looks at cluster and cloud, as often and as freshly as it takes to believe what is seen. */

import type { Absence } from "../apply/absence.ts";
import { type Plan, planRun } from "../guard/plan.ts";
import type { Ages, CloudState, CloudView } from "../hcloud/view.ts";
import type { Write } from "../publish/writes.ts";
import { isUncertain } from "../render/certificates.ts";
import { type Observed, type Rendered, type RenderOptions, renderCluster } from "../render/cluster.ts";
import { agesAfter, firstLook, freshLook, lookFor } from "./ages.ts";
import { contradiction, ImplausibleCloud, requirePlausible } from "./plausible.ts";

export interface LookoutParts {
  /** Synced caches of the API server's objects. */
  readonly observed: () => Observed;
  readonly view: CloudView;
  /** Carries out writes and returns those that failed. */
  readonly publish: (writes: readonly Write[]) => Promise<readonly Write[]>;
  readonly options: RenderOptions;
  /** A turn comes round by itself after half of this or later. */
  readonly resyncMs: number;
  /** Takes in what every look finds. */
  readonly absence: Pick<Absence, "observe">;
}

export class Lookout {
  readonly #parts: LookoutParts;
  readonly #firstLook: Ages;

  constructor(parts: LookoutParts) {
    this.#parts = parts;
    this.#firstLook = firstLook(parts.resyncMs);
  }

  /** What is wanted, from a first look, and from a fresh one at whatever that look would change. */
  async before(): Promise<Rendered> {
    const { options, observed } = this.#parts;
    const hasRoutes = options.clusterCidrs.length > 0;
    const first = await this.#observe(hasRoutes ? lookFor(observed().nodes, this.#firstLook) : this.#firstLook);
    const missesServer = first.services.some((intent) => intent.kind === "balance" && intent.leftOut.length > 0);
    const changesRoutes = planRun(first).some(({ unit }) => unit.startsWith("route/"));
    const asks = {
      servers: missesServer || changesRoutes || (first.routes?.refused.some(({ isFinal }) => !isFinal) ?? false),
      certificates: isUncertain(first),
      network: changesRoutes,
    };
    return asks.servers || asks.certificates ? this.#observe(freshLook(this.#firstLook, asks)) : first;
  }

  /** What is wanted, from a look at what a run has touched. */
  after(due: Plan): Promise<Rendered> {
    return this.#observe(agesAfter(due, this.#firstLook));
  }

  async #observe(ages: Ages): Promise<Rendered> {
    const cloud = await this.#observeCloud(ages);
    const { observed, options, absence } = this.#parts;
    const rendered = renderCluster({ ...observed(), cloud, now: Date.now() }, options);
    absence.observe(rendered);
    return rendered;
  }

  /** A list that contradicts the nodes may only be old: it is asked for again before it is not believed. */
  async #observeCloud(ages: Ages): Promise<CloudState> {
    const { view, observed, publish } = this.#parts;
    const look = async (wanted: Ages) => {
      const cloud = await view.state(wanted);
      requirePlausible(cloud, observed().nodes);
      return cloud;
    };
    try {
      return await look(ages).catch(() => look({ ...ages, servers: 0 }));
    } catch (error) {
      if (error instanceof ImplausibleCloud) await publish(error.nodes.map(contradiction));
      throw error;
    }
  }
}
