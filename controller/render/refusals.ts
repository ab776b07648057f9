/** All mistakes of a cluster by object, for commands that show the cluster as a whole. */
import type { Rendered } from "./cluster.ts";
import { serviceName } from "./service/ours.ts";

/** An object, and everything that is wrong with it. */
export interface Refusal {
  /** `Service default/web`, `Node node-1`. */
  readonly object: string;
  readonly mistakes: readonly string[];
}

/** A Service can have thousands of mistakes, but Events and ConfigMaps have limits. */
const MOST_MISTAKES = 40;

/** The first texts, and how many more there are. */
export function shortened(texts: readonly string[], most = MOST_MISTAKES): readonly string[] {
  return texts.length <= most ? texts : [...texts.slice(0, most), `and ${texts.length - most} more`];
}

/** Every Service with mistakes, and every Node that cannot get a route. */
export function refusalsOf({ services, routes }: Rendered): readonly Refusal[] {
  const refusedServices = services.flatMap((intent) => {
    const mistakes = intent.kind === "retire" ? [] : shortened(intent.mistakes);
    return mistakes.length > 0 ? [{ object: `Service ${serviceName(intent.service)}`, mistakes }] : [];
  });
  const refusedRoutes = (routes?.refused ?? []).map(({ node, reason }) => ({
    object: `Node ${node}`,
    mistakes: [`no route: ${reason}`],
  }));
  return [...refusedServices, ...refusedRoutes];
}
