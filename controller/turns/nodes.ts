/** One turn that copies server data to Nodes: provider ID, labels, addresses. Independent of engine runs. */
import type { V1Node } from "@kubernetes/client-node";
import { isConflict, isNotFound } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { type CloudView, pagesOf } from "../hcloud/reader.ts";
import type { Patcher } from "../kube/write.ts";
import type { EventReason } from "../publish/events.ts";
import { onNode, type Write } from "../publish/writes.ts";
import type { StateMirror } from "../record/mirror.ts";
import { decideNode, type Inventory, type NodeOptions, type NodeVerdict } from "../render/node/metadata.ts";
import { isUninitialised } from "../render/node/patch.ts";
import { nodeOutputs } from "../render/outputs.ts";
import type { RobotInventory } from "../robot/api.ts";
import { inParallel } from "../work/parallel.ts";
import { Recent } from "../work/recent.ts";

export interface NodeTurnParts {
  readonly nodes: () => readonly V1Node[];
  readonly view: Pick<CloudView, "servers">;
  /** Absent when there are no dedicated servers. */
  readonly robots?: () => Promise<RobotInventory>;
  readonly patcher: Pick<Patcher, "patchNode" | "readNode">;
  readonly publish: (writes: readonly Write[]) => Promise<unknown>;
  readonly options: NodeOptions;
  /** Receives what is written to the Nodes. */
  readonly mirror?: Pick<StateMirror, "showNodes">;
  readonly log: Logger;
  readonly now?: () => number;
}

/** Many joining Nodes share a list. A Node whose server is missing from an older list causes a fresh one. */
const SERVERS_MAX_AGE_MS = 30_000;
/** A new Node may appear before its server is listed: it is retried soon, without an Event yet. */
const NEW = { untilMs: 10_000, retryMs: 1_000 };
/** After that its server may still be joining the network. Older Nodes are retried at each resync. */
const WAITING = { untilMs: 600_000, retryMs: 5_000 };
/** Concurrent patches, and attempts per Node while other clients write it (framework N29). */
const PARALLEL = 16;
const ATTEMPTS = 20;

const NO_ROBOTS: RobotInventory = { kind: "off" };

type Ready = NodeVerdict & { readonly kind: "ready" };

export class NodeTurn {
  readonly #parts: NodeTurnParts;
  readonly #now: () => number;
  /** When Nodes without a server were first seen, by UID. */
  readonly #seenAt = new Recent<number>(1_000);

  constructor(parts: NodeTurnParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** Handles every Node, even if one of them fails. Returns the time until the next turn at the latest, in milliseconds. */
  async run(): Promise<number | undefined> {
    let decided = await this.#decide(SERVERS_MAX_AGE_MS);
    const retryMs = this.#retryMs(decided);
    if (retryMs !== undefined) decided = await this.#decide(retryMs);
    this.#parts.mirror?.showNodes(nodeOutputs(decided));
    await inParallel(decided, PARALLEL, (item) => this.#settle(item));
    return this.#retryMs(decided);
  }

  async #decide(maxAgeMs: number): Promise<readonly Decided[]> {
    const { nodes, view, robots, options } = this.#parts;
    const [servers, listed] = await Promise.all([view.servers(maxAgeMs), robots?.() ?? NO_ROBOTS]);
    const inventory = { servers, robots: listed };
    return nodes().map((node) => ({ node, inventory, verdict: decideNode(node, inventory, options) }));
  }

  /** How soon a fresh list may help one of the refused Nodes; undefined when it would help none. */
  #retryMs(decided: readonly Decided[]): number | undefined {
    const waiting = decided.filter(({ verdict }) => verdict.kind === "refused" && !verdict.isFinal);
    const ages = waiting.map(({ node }) => this.#ageOf(node)).filter((age) => age < WAITING.untilMs);
    if (ages.length === 0) return undefined;
    const requests = pagesOf(decided[0]?.inventory.servers.length ?? 0);
    return requests * (Math.min(...ages) < NEW.untilMs ? NEW.retryMs : WAITING.retryMs);
  }

  /** By the longer of two clocks: that of the API server may be ahead of ours, so that a Node would stay new for ever. */
  #ageOf({ metadata }: V1Node): number {
    const { creationTimestamp: created, uid = "" } = metadata ?? {};
    if (created === undefined) return Number.POSITIVE_INFINITY;
    const now = this.#now();
    const seenAt = this.#seenAt.get(uid) ?? now;
    this.#seenAt.set(uid, seenAt);
    return Math.max(now - seenAt, now - new Date(created).getTime());
  }

  async #settle({ node, inventory, verdict }: Decided): Promise<void> {
    if (verdict.kind === "ready") return this.#write(node, verdict, inventory);
    if (verdict.kind === "foreign") return this.#notify(node, "UnknownProviderIDPrefix", foreignText(node, verdict));
    if (!verdict.isFinal && this.#ageOf(node) < NEW.untilMs) return;
    const isNew = !node.spec?.providerID || isUninitialised(node);
    const message = `Node ${node.metadata?.name} ${isNew ? "is not initialised" : "cannot be synced"}: ${verdict.reason}`;
    const reason = verdict.event ?? (isNew ? "InitializationFailed" : "SyncFailed");
    await this.#notify(node, reason, message);
  }

  /** On a conflict with another client, decides again from the Node's current version. */
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
        if (isNotFound(error)) return; // the Node was deleted
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

function foreignText({ metadata }: V1Node, { providerId }: NodeVerdict & { readonly kind: "foreign" }): string {
  return `Node ${metadata?.name} is left alone: its providerID "${providerId}" starts with neither hcloud:// nor hrobot://. If it runs on Hetzner, disable the other cloud provider and delete the Node so that kubelet registers it again.`;
}

interface Decided {
  readonly node: V1Node;
  readonly inventory: Inventory;
  readonly verdict: NodeVerdict;
}
