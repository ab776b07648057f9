/** Direct reads of servers, as a second witness before a list removes what belongs to a Ready Node. */
import type { V1Node } from "@kubernetes/client-node";
import { doubtfulServers } from "../guard/guard.ts";
import type { Situation } from "../guard/plan.ts";
import type { Server } from "../hcloud/api.ts";
import type { CloudView } from "../hcloud/reader.ts";
import type { Witnesses } from "../render/node/lifecycle.ts";
import { inParallel } from "../work/parallel.ts";

/** Concurrent reads. */
const PARALLEL = 8;

/** The servers that one turn has read directly. */
export class ServerWitnesses {
  readonly #view: Pick<CloudView, "server">;
  readonly #read = new Map<number, Server | undefined>();

  constructor(view: Pick<CloudView, "server">) {
    this.#view = view;
  }

  get read(): Witnesses {
    return this.#read;
  }

  forget(): void {
    this.#read.clear();
  }

  /** Reads the servers that the plan is in doubt about, each once. Returns whether there were any: then plan again. */
  async readDoubtful(planned: Situation, nodes: readonly V1Node[]): Promise<boolean> {
    const ids = doubtfulServers(planned, nodes).filter((id) => !this.#read.has(id));
    await inParallel(ids, PARALLEL, async (id) => void this.#read.set(id, await this.#view.server(id)));
    return ids.length > 0;
  }
}
