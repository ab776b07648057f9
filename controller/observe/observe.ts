/** One plausible snapshot of cluster and cloud, of a given age at most. */
import type { Ages, CloudView } from "../hcloud/view.ts";
import type { Observed, Snapshot } from "../render/cluster.ts";
import { requirePlausible } from "./plausible.ts";

export interface Sources {
  /** Objects from the synced caches. */
  readonly observed: () => Observed;
  readonly view: Pick<CloudView, "state">;
}

/** Throws ImplausibleCloud when the lists contradict the Nodes, even after reading the servers again. */
export async function observe({ observed, view }: Sources, ages: Ages): Promise<Snapshot> {
  const read = async (wanted: Ages) => {
    const cloud = await view.state(wanted);
    requirePlausible(cloud, observed().nodes);
    return cloud;
  };
  const cloud = await read(ages).catch(() => read({ ...ages, servers: 0 }));
  return { ...observed(), cloud, now: Date.now() };
}
