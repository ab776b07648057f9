/** Listeners and targets of a balancer that are none of the Service's: they were there when it was taken over. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { listenerPart, targetPart } from "../../../../stacks/units/names.ts";
import type { LoadBalancerState } from "../../../../stacks/units/spec.ts";
import { foreignMark } from "../../../formats/marks.ts";
import type { Server } from "../../../hcloud/api.ts";
import { findServer } from "../../node/metadata.ts";
import { tcpPorts } from "../listeners.ts";

/** Names of foreign parts, as they are called in the stack. */
export type ForeignParts = ReadonlySet<string>;

/** Stands for all label selectors: nobody looks into them. */
const SELECTORS = "selectors";

export const NOTHING_FOREIGN: ForeignParts = new Set();

/** The Service and the nodes that it may send to. */
export interface Claimant {
  readonly service: V1Service;
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  /** Whether the balancer is being taken over now: what is on it is not marked yet. */
  readonly isTakingOver: boolean;
  /** How many label selectors are among the balancer's targets. */
  readonly selectors: number;
}

/**
 * What is on a balancer and not the Service's: at the takeover everything that is neither one of its ports nor one of the
 * cluster's nodes, later what was marked then. A part that the Service claims later is its own from then on.
 */
export function findForeign(balancer: LoadBalancerState, claimant: Claimant): ForeignParts {
  const claimed = claimedParts(claimant);
  const parts = [
    ...balancer.listeners.map(({ listenPort }) => listenerPart(listenPort)),
    ...balancer.targets.map(targetPart),
    ...(claimant.selectors > 0 ? [SELECTORS] : []),
  ];
  const isForeign = (part: string) => claimant.isTakingOver || Object.hasOwn(balancer.labels, foreignMark(part));
  return new Set(parts.filter((part) => !claimed.has(part) && isForeign(part)));
}

/** How many listeners and targets are foreign, label selectors left out. */
export function countForeign(foreign: ForeignParts = NOTHING_FOREIGN): { listeners: number; targets: number } {
  const listeners = [...foreign].filter((part) => part.startsWith(listenerPart(0).slice(0, -1))).length;
  return { listeners, targets: foreign.size - listeners - Number(foreign.has(SELECTORS)) };
}

/** The balancer without its foreign parts: what we do not see we do not touch. */
export function withoutForeign(balancer: LoadBalancerState, foreign: ForeignParts): LoadBalancerState {
  if (foreign.size === 0) return balancer;
  return {
    ...balancer,
    listeners: balancer.listeners.filter(({ listenPort }) => !foreign.has(listenerPart(listenPort))),
    targets: balancer.targets.filter((target) => !foreign.has(targetPart(target))),
  };
}

function claimedParts({ service, nodes, servers }: Claimant): ReadonlySet<string> {
  const ports = tcpPorts(service).map(({ port }) => listenerPart(port));
  const targets = nodes.flatMap((node) => {
    const server = findServer(node, servers);
    const ips = (node.status?.addresses ?? []).map(({ address }) => targetPart({ kind: "ip", ip: address }));
    return server ? [targetPart({ kind: "server", serverId: server.id, usePrivateIp: false }), ...ips] : ips;
  });
  return new Set([...ports, ...targets]);
}
