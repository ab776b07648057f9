/** Keeps nodes as the cloud has them. Needs no engine run and does not wait for one. */
import type { V1Node } from "@kubernetes/client-node";
import { isConflict, isNotFound } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { CloudView } from "../hcloud/view.ts";
import type { Patcher } from "../kube/write.ts";
import type { EventReason } from "../publish/events.ts";
import { onNode, type Write } from "../publish/writes.ts";
import { decideNode, type Inventory, type NodeOptions, type NodeVerdict } from "../render/node/metadata.ts";
import { isUninitialised } from "../render/node/patch.ts";
import type { RobotInventory } from "../robot/api.ts";
import { inParallel } from "../work/parallel.ts";

export interface NodeTurnParts {
  readonly nodes: () => readonly V1Node[];
  readonly view: Pick<CloudView, "servers">;
  /** Absent when there are no dedicated servers. */
  readonly robots?: () => Promise<RobotInventory>;
  readonly patcher: Pick<Patcher, "patchNode" | "readNode">;
  readonly publish: (writes: readonly Write[]) => Promise<unknown>;
  readonly options: NodeOptions;
  readonly log: Logger;
  readonly now?: () => number;
}

/** A burst of joining nodes is served by few lists; a node that is missing from an older one asks for a fresh one. */
const SERVERS_MAX_AGE_MS = 30_000;
/** A new node may be faster than the list: it is looked for again soon, and not told about yet. */
const NEW = { untilMs: 10_000, retryMs: 1_000 };
/** Later its server may still be on its way into the network or the list. After that, every resync is soon enough. */
const WAITING = { untilMs: 600_000, retryMs: 5_000 };
/** Patches under way at once, and how often one is tried while others write the same node (framework N29). */
const PARALLEL = 16;
const ATTEMPTS = 20;

const NO_ROBOTS: RobotInventory = { kind: "off" };

type Ready = NodeVerdict & { readonly kind: "ready" };

export class NodeTurn {
  readonly #parts: NodeTurnParts;
  readonly #now: () => number;

  constructor(parts: NodeTurnParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** One pass over all nodes. A failed patch never keeps another node waiting. */
  async run(): Promise<number | undefined> {
    let decided = await this.#decide(SERVERS_MAX_AGE_MS);
    const retryMs = this.#retryMs(decided);
    if (retryMs !== undefined) decided = await this.#decide(retryMs);
    await inParallel(decided, PARALLEL, (item) => this.#settle(item));
    return this.#retryMs(decided);
  }

  async #decide(maxAgeMs: number): Promise<readonly Decided[]> {
    const { nodes, view, robots, options } = this.#parts;
    const [servers, listed] = await Promise.all([view.servers(maxAgeMs), robots?.() ?? NO_ROBOTS]);
    const inventory = { servers, robots: listed };
    return nodes().map((node) => ({ node, inventory, verdict: decideNode(node, inventory, options) }));
  }

  /** How soon another look at the cloud may help one of the nodes that wait for it. */
  #retryMs(decided: readonly Decided[]): number | undefined {
    const waiting = decided.filter(({ verdict }) => verdict.kind === "refused" && !verdict.isFinal);
    const ages = waiting.map(({ node }) => this.#ageOf(node)).filter((age) => age < WAITING.untilMs);
    if (ages.length === 0) return undefined;
    return Math.min(...ages) < NEW.untilMs ? NEW.retryMs : WAITING.retryMs;
  }

  #ageOf({ metadata }: V1Node): number {
    const created = metadata?.creationTimestamp;
    return created === undefined ? Number.POSITIVE_INFINITY : this.#now() - new Date(created).getTime();
  }

  async #settle({ node, inventory, verdict }: Decided): Promise<void> {
    if (verdict.kind === "ready") return this.#write(node, verdict, inventory);
    if (verdict.kind === "foreign" || (!verdict.isFinal && this.#ageOf(node) < NEW.untilMs)) return;
    const isNew = !node.spec?.providerID || isUninitialised(node);
    const message = `Node ${node.metadata?.name} ${isNew ? "is not initialised" : "cannot be synced"}: ${verdict.reason}`;
    const reason = verdict.event ?? (isNew ? "InitializationFailed" : "SyncFailed");
    await this.#notify(node, reason, message);
  }

  /** Others write nodes too: on a conflict the patch is made anew from the node as it is now. */
  async #write(seen: V1Node, decided: Ready, inventory: Inventory): Promise<void> {
    const { patcher, options } = this.#parts;
    for (const warning of decided.warnings) await this.#notify(seen, warning.reason, warning.message);
    let node: V1Node | undefined = seen;
    let verdict: NodeVerdict = decided;
    for (let attempt = 1; node && verdict.kind === "ready" && Object.keys(verdict.patch).length > 0; attempt += 1) {
      try {
        await patcher.patchNode(node, verdict.patch);
        return await this.#report(node, verdict);
      } catch (error) {
        if (isNotFound(error)) return; // nothing is left to write to
        if (attempt === ATTEMPTS || !isConflict(error)) throw error;
      }
      node = await patcher.readNode(seen.metadata?.name ?? "");
      if (node) verdict = decideNode(node, inventory, options);
    }
  }

  async #report(node: V1Node, { patch, isInitialisation }: Ready): Promise<void> {
    const fields = Object.keys(patch);
    this.#parts.log.info({ node: node.metadata?.name, fields }, isInitialisation ? "node initialised" : "node updated");
    if (!isInitialisation) return;
    await this.#notify(node, "Synced", "Node synced successfully");
  }

  async #notify(node: V1Node, reason: EventReason, message: string): Promise<void> {
    await this.#parts.publish([onNode(node, reason, message)]);
  }
}

interface Decided {
  readonly node: V1Node;
  readonly inventory: Inventory;
  readonly verdict: NodeVerdict;
}
