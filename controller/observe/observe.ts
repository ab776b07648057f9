/** One snapshot of cluster and cloud, as fresh as it is asked for, and believable. */
import type { Ages, CloudView } from "../hcloud/view.ts";
import type { Observed, Snapshot } from "../render/cluster.ts";
import { requirePlausible } from "./plausible.ts";

export interface Sources {
  /** Synced caches of the API server's objects. */
  readonly observed: () => Observed;
  readonly view: Pick<CloudView, "state">;
}

/** Throws ImplausibleCloud when the lists contradict the Nodes. A list that does may only be old, so it is read again first. */
export async function observe({ observed, view }: Sources, ages: Ages): Promise<Snapshot> {
  const read = async (wanted: Ages) => {
    const cloud = await view.state(wanted);
    requirePlausible(cloud, observed().nodes);
    return cloud;
  };
  const cloud = await read(ages).catch(() => read({ ...ages, servers: 0 }));
  return { ...observed(), cloud, now: Date.now() };
}
