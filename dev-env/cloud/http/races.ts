import { refuse } from "../api/errors.ts";
import type { Project } from "../state/project.ts";

/** Kinds whose writes race; servers are guarded by their lock instead. */
const RACING: Readonly<Record<string, { readonly type: string; readonly title: string }>> = {
  load_balancers: { type: "load_balancer", title: "load balancer" },
  networks: { type: "network", title: "network" },
  certificates: { type: "certificate", title: "certificate" },
  firewalls: { type: "firewall", title: "firewall" },
  placement_groups: { type: "placement_group", title: "placement group" },
  primary_ips: { type: "primary_ip", title: "primary ip" },
};

/** Knows which resources a write is in flight for; the second write to one of them is a `conflict`. */
export class Races {
  readonly #project: Project;
  readonly #inFlight = new Set<string>();

  constructor(project: Project) {
    this.#project = project;
  }

  /** Claims the resource in the path for one write; call the result when the answer is out. */
  claim(path: string): () => void {
    const [, plural = "", id = ""] = path.split("/");
    const racing = RACING[plural];
    if (!racing || id === "") return () => {};
    const { strictRaces, conflictWhileActionRuns } = this.#project.behaviour;
    const key = `${plural}/${id}`;
    const isBusy = () => this.#project.actions.isBusy({ type: racing.type, id: Number(id) });
    if ((strictRaces && this.#inFlight.has(key)) || (conflictWhileActionRuns && isBusy())) {
      throw refuse("conflict", `${racing.title} has changed during request`);
    }
    this.#inFlight.add(key);
    return () => this.#inFlight.delete(key);
  }
}
