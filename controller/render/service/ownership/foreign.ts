/** Foreign parts: listeners and targets that were on a load balancer before a Service adopted it. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { listenerPart, targetPart } from "../../../../stacks/units/names.ts";
import type { LoadBalancerState } from "../../../../stacks/units/spec.ts";
import { foreignMark } from "../../../formats/marks.ts";
import type { Server } from "../../../hcloud/api.ts";
import { findServer } from "../../node/metadata.ts";
import { tcpPorts } from "../listeners.ts";

/** Names of foreign parts, as in the stack. */
export type ForeignParts = ReadonlySet<string>;

/** Represents all label selector targets, which are not told apart. */
const SELECTORS = "selectors";

/** No foreign parts. */
export const NOTHING_FOREIGN: ForeignParts = new Set();

/** What a Service can claim on a load balancer: its ports, and the cluster's nodes. */
export interface Claimant {
  readonly service: V1Service;
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  /** Whether the load balancer is being adopted now, so that its foreign parts are not marked yet. */
  readonly isTakingOver: boolean;
  /** Number of label selectors among the targets. */
  readonly selectors: number;
}

/**
 * The foreign parts of a load balancer: at adoption, everything that is neither a port of the Service nor a node of the
 * cluster; later, what was marked then. A part that the Service claims later becomes its own.
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

/** Numbers of foreign listeners and targets, without label selectors. */
export function countForeign(foreign: ForeignParts = NOTHING_FOREIGN): { listeners: number; targets: number } {
  const listeners = [...foreign].filter((part) => part.startsWith(listenerPart(0).slice(0, -1))).length;
  return { listeners, targets: foreign.size - listeners - Number(foreign.has(SELECTORS)) };
}

/** The load balancer without its foreign parts, so that nothing can change them. */
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
