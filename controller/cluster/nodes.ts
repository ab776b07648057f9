/** Keeps nodes as the cloud has them. Needs no engine run and does not wait for one. */
import type { V1Node } from "@kubernetes/client-node";
import type { Server } from "../hcloud/api.ts";
import type { CloudView } from "../hcloud/view.ts";
import type { Logger } from "../log.ts";
import { decideNode, type NodeOptions, type NodePatch, type NodeVerdict } from "../node/metadata.ts";
import { inParallel } from "../work/parallel.ts";
import type { Write } from "./writes.ts";

export interface NodeTurnParts {
  readonly nodes: () => readonly V1Node[];
  readonly view: CloudView;
  readonly patchNode: (node: V1Node, patch: NodePatch) => Promise<void>;
  readonly publish: (writes: readonly Write[]) => Promise<unknown>;
  readonly options: NodeOptions;
  readonly log: Logger;
}

/** A burst of joining nodes is served by few lists; a node that is missing from an older one asks for a fresh one. */
const SERVERS_MAX_AGE_MS = 30_000;
const FRESH_MS = 1_000;
/** A node without a server is looked for again this often: its server may still be on its way into the list. */
const RETRY_MS = 5_000;
/** Patches under way at once. */
const PARALLEL = 16;

export class NodeTurn {
  readonly #parts: NodeTurnParts;

  constructor(parts: NodeTurnParts) {
    this.#parts = parts;
  }

  /** One pass over all nodes. A failed patch never keeps another node waiting. */
  async run(): Promise<number | undefined> {
    const { nodes, view, options } = this.#parts;
    const decide = (servers: readonly Server[]) =>
      nodes().map((node) => ({ node, verdict: decideNode(node, servers, options) }));
    let decided = decide(await view.servers(SERVERS_MAX_AGE_MS));
    if (decided.some(isWaiting)) decided = decide(await view.servers(FRESH_MS));
    await inParallel(decided, PARALLEL, ({ node, verdict }) => this.#settle(node, verdict));
    return decided.some(isWaiting) ? RETRY_MS : undefined;
  }

  async #settle(node: V1Node, verdict: NodeVerdict): Promise<void> {
    switch (verdict.kind) {
      case "foreign":
        return;
      case "refused":
        return this.#tell(
          node,
          "Warning",
          "InitializationFailed",
          `Node ${node.metadata?.name} is not initialised: ${verdict.reason}`,
        );
      case "ready": {
        const fields = Object.keys(verdict.patch);
        if (fields.length === 0) return;
        await this.#parts.patchNode(node, verdict.patch);
        this.#parts.log.info(
          { node: node.metadata?.name, fields },
          verdict.isInitialisation ? "node initialised" : "node updated",
        );
        if (verdict.isInitialisation) await this.#tell(node, "Normal", "Synced", "Node synced successfully");
      }
    }
  }

  async #tell(object: V1Node, type: "Normal" | "Warning", reason: string, message: string): Promise<void> {
    await this.#parts.publish([{ kind: "event", event: { about: { kind: "Node", object }, type, reason, message } }]);
  }
}

/** True for a node that a fresh look at the cloud may help. */
function isWaiting({ verdict }: { readonly verdict: NodeVerdict }): boolean {
  return verdict.kind === "refused" && !verdict.isFinal;
}
