/** Saves the mirror: units and outputs as the state of a Pulumi stack, behind everything that users wait for. */
import { type Mirrored, renderMirror, type StateStore } from "../../stacks/state/mirror.ts";
import type { StackOutputs } from "../../stacks/units/outputs.ts";
import { NotLeader } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { wantedSpecs } from "../guard/plan.ts";
import type { Rendered } from "../render/cluster.ts";
import { unitOutputs } from "../render/outputs.ts";
import { BackgroundWrite } from "../work/background-write.ts";
import { TIMINGS } from "../work/timings.ts";

interface MirrorParts {
  readonly stack: string;
  readonly store: StateStore;
  readonly mayWrite: () => boolean;
  readonly log: Logger;
}

/** Collects what the turns prove, and saves it when it has changed. */
export class StateMirror {
  readonly #saving: BackgroundWrite;
  #mirrored: Mirrored;
  #saved = "";

  constructor({ stack, store, mayWrite, log }: MirrorParts) {
    const outputs: StackOutputs = { schemaVersion: 1, services: {}, nodes: {}, routes: {} };
    this.#mirrored = { stack, existing: {}, specs: [], outputs };
    const write = async () => {
      const mirrored = this.#mirrored;
      const text = JSON.stringify(mirrored);
      if (text === this.#saved) return;
      if (!mayWrite()) throw new NotLeader();
      await store.save(renderMirror(mirrored, new Date()));
      this.#saved = text;
    };
    this.#saving = new BackgroundWrite({ delayMs: TIMINGS.mirror, write, failure: "state not saved, retrying", log });
  }

  /** Shows units as the lists prove them. */
  showUnits(rendered: Rendered): void {
    const specs = [...wantedSpecs(rendered).values()];
    this.#show({ existing: rendered.existing, specs, outputs: unitOutputs(rendered) });
  }

  /** Shows what is written to Nodes. */
  showNodes(outputs: Pick<StackOutputs, "nodes">): void {
    this.#show({ outputs });
  }

  /** Saves what is left. */
  stop(): Promise<void> {
    return this.#saving.stop();
  }

  #show({ outputs, ...units }: Partial<Omit<Mirrored, "outputs">> & { readonly outputs: Partial<StackOutputs> }): void {
    this.#mirrored = { ...this.#mirrored, ...units, outputs: { ...this.#mirrored.outputs, ...outputs } };
    this.#saving.request();
  }
}
