/** Conflicts between concurrent writes to one resource. */
import { refuse } from "../api/errors.ts";
import type { Project } from "../state/project.ts";

/** Kinds for which concurrent writes conflict; servers have a lock instead. */
const RACING = new Set(["load_balancer", "network", "certificate", "firewall", "placement_group", "primary_ip"]);

/** Tracks resources with a write in flight. A second write to such a resource is a `conflict`. */
export class Races {
  readonly #project: Project;
  readonly #inFlight = new Set<string>();

  constructor(project: Project) {
    this.#project = project;
  }

  /** Claims the resource in the path for one write. Call the result to release it. */
  claim(path: string): () => void {
    const [, plural = "", id = ""] = path.split("/");
    const type = plural.slice(0, -1);
    if (!RACING.has(type) || id === "") return () => {};
    const { strictRaces, conflictWhileActionRuns } = this.#project.behaviour;
    const key = `${plural}/${id}`;
    const isBusy = () => this.#project.actions.isBusy({ type, id: Number(id) });
    if ((strictRaces && this.#inFlight.has(key)) || (conflictWhileActionRuns && isBusy())) {
      throw refuse("conflict", `${type.replace("_", " ")} has changed during request`);
    }
    this.#inFlight.add(key);
    return () => this.#inFlight.delete(key);
  }
}
