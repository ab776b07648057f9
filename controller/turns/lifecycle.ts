/** One turn for Nodes that are not Ready: deletes those whose server is gone, taints those whose server is off. */
import type { V1Node } from "@kubernetes/client-node";
import { isConflict, isNotFound, messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Server } from "../hcloud/api.ts";
import { type CloudView, pagesOf } from "../hcloud/reader.ts";
import type { Patcher } from "../kube/write.ts";
import type { EventReason } from "../publish/events.ts";
import { onNode, type Write } from "../publish/writes.ts";
import {
  decideLifecycle,
  decideLifecycles,
  decideRobotLifecycle,
  isReady,
  isSuspect,
  type LifecycleVerdict,
  robotNumbers,
  suspectRobot,
} from "../render/node/lifecycle.ts";
import type { NodePatch } from "../render/node/patch.ts";
import type { RobotState } from "../robot/api.ts";
import { inParallel } from "../work/parallel.ts";

export interface LifecycleTurnParts {
  readonly nodes: () => readonly V1Node[];
  readonly view: Pick<CloudView, "servers" | "server">;
  /** Whether a dedicated server exists and runs; absent without Robot credentials. */
  readonly robotState?: (number: number) => Promise<RobotState>;
  readonly patcher: Pick<Patcher, "patchNode" | "deleteNode">;
  readonly publish: (writes: readonly Write[]) => Promise<unknown>;
  /** Interval between turns while a Node is not Ready. */
  readonly periodMs: number;
  readonly log: Logger;
}

/** Concurrent requests. */
const PARALLEL = 8;

export class LifecycleTurn {
  readonly #parts: LifecycleTurnParts;
  /** Whether another client wrote a Node before this turn could. */
  #isOvertaken = false;

  constructor(parts: LifecycleTurnParts) {
    this.#parts = parts;
  }

  /**
   * Lists the servers only while a Node is not Ready, once for all such Nodes; the more pages the list has, the less often.
   * Returns the time until the next turn at the latest, in milliseconds.
   */
  async run(): Promise<number | undefined> {
    const seen = this.#parts.nodes();
    const ready = seen.filter(isReady).map((node) => ({ node, verdict: decideLifecycle(node, [], new Map()) }));
    this.#isOvertaken = false;
    let againMs: number | undefined;
    const settleSuspects = async () => {
      againMs = await this.#settleSuspects(seen);
    };
    // A Node that cannot be written to holds up no other, nor does an unreachable cloud.
    await inParallel([() => this.#settleAll(ready), settleSuspects], 1, (work) => work());
    return this.#isOvertaken ? this.#parts.periodMs : againMs;
  }

  async #settleSuspects(seen: readonly V1Node[]): Promise<number | undefined> {
    const { view, periodMs } = this.#parts;
    const robots = await this.#settleRobots(seen);
    if (!seen.some(isSuspect)) return robots > 0 ? periodMs : undefined;
    const servers = await view.servers(periodMs);
    const witnesses = await this.#readDirectly(decideLifecycles(seen, servers, new Map()));
    const suspects = decideLifecycles(seen, servers, witnesses).filter(({ node }) => isSuspect(node));
    await this.#settleAll(suspects);
    return periodMs * pagesOf(servers.length);
  }

  /** Looks up the dedicated servers of Nodes that are not Ready. Returns how many there are. */
  async #settleRobots(seen: readonly V1Node[]): Promise<number> {
    const { robotState, log } = this.#parts;
    if (!robotState) return 0;
    const suspects = seen.flatMap((node) => {
      const number = suspectRobot(node);
      return number === undefined ? [] : [{ node, number }];
    });
    await inParallel(suspects, 1, async ({ node, number }) => {
      try {
        const state = await robotState(number);
        const strangers = state === "missing" ? await countStrangers(robotNumbers(seen), robotState) : 0;
        await this.#settle(node, decideRobotLifecycle(node, state, strangers));
      } catch (error) {
        log.warn({ node: node.metadata?.name, error: messageOf(error) }, "reading a node's dedicated server failed");
      }
    });
    return suspects.length;
  }

  /** Reads unlisted servers directly, as a second witness. Where that fails, the Node is kept. */
  async #readDirectly(decided: Decided): Promise<ReadonlyMap<number, Server | undefined>> {
    const { view, log } = this.#parts;
    const witnesses = new Map<number, Server | undefined>();
    await inParallel(decided, PARALLEL, async ({ node, verdict }) => {
      if (verdict.kind !== "ask") return;
      try {
        witnesses.set(verdict.serverId, await view.server(verdict.serverId));
      } catch (error) {
        log.warn({ node: node.metadata?.name, error: messageOf(error) }, "reading an unlisted server failed");
      }
    });
    return witnesses;
  }

  async #settleAll(decided: Decided): Promise<void> {
    await inParallel(decided, PARALLEL, ({ node, verdict }) => this.#settle(node, verdict));
  }

  async #settle(node: V1Node, verdict: LifecycleVerdict): Promise<void> {
    const { name } = node.metadata ?? {};
    switch (verdict.kind) {
      case "keep":
      case "ask":
        return;
      case "hold":
        return this.#notify(node, "NodeDeletionHeldBack", `Node ${name} is not deleted: ${verdict.reason}`);
      case "taint":
        return this.#taint(node, verdict);
      case "delete":
        return this.#delete(node);
    }
  }

  async #taint(node: V1Node, { taints }: NodePatch): Promise<void> {
    const { patcher, log } = this.#parts;
    try {
      await patcher.patchNode(node, taints ? { taints } : {});
      log.info({ node: node.metadata?.name, isOff: !isReady(node) }, "shutdown taint updated");
    } catch (error) {
      // The change of the other client need not be one that wakes this loop.
      if (isConflict(error)) this.#isOvertaken = true;
      else if (!isNotFound(error)) throw error;
    }
  }

  async #delete(node: V1Node): Promise<void> {
    const { patcher, log } = this.#parts;
    const { name } = node.metadata ?? {};
    const message = `Deleting node ${name} because it does not exist in the cloud provider`;
    await this.#notify(node, "DeletingNode", message);
    try {
      if (await patcher.deleteNode(node)) log.info({ node: name, providerID: node.spec?.providerID }, "node deleted");
    } catch (error) {
      await this.#notify(node, "DeletingNodeFailed", `Failed deleting node ${name}: ${messageOf(error)}`);
    }
  }

  async #notify(node: V1Node, reason: EventReason, message: string): Promise<void> {
    await this.#parts.publish([onNode(node, reason, message)]);
  }
}

/**
 * The number of dedicated servers, if Robot knows none of them: then its user belongs to another account. Otherwise 0. Throws
 * when it knows none of those that could be looked up.
 */
async function countStrangers(
  numbers: readonly number[],
  robotState: NonNullable<LifecycleTurnParts["robotState"]>,
): Promise<number> {
  let failure: unknown;
  for (const number of numbers) {
    const state = await robotState(number).catch((error: unknown) => {
      failure = error;
    });
    if (state && state !== "missing") return 0;
  }
  if (failure !== undefined) throw failure;
  return numbers.length;
}

type Decided = ReturnType<typeof decideLifecycles>;
