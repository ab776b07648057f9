/** What is ours: Services with what they ask for, and which parts of their load balancers are foreign. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { differences } from "../../../stacks/units/difference.ts";
import { listenerPart, targetPart } from "../../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState, ServiceRef } from "../../../stacks/units/spec.ts";
import { hasFinalizer } from "../../formats/finalizer.ts";
import { foreignMark } from "../../formats/marks.ts";
import type { Parser } from "../../formats/values.ts";
import type { Server } from "../../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";
import type { Takeover } from "./adoption.ts";
import { tcpPorts } from "./listeners.ts";

/** Which Services are served, by `loadBalancerClass`. */
export interface ServedClasses {
  /** The class to serve; none when absent. */
  readonly name?: string;
  /** Whether Services without a class are served. */
  readonly classless: boolean;
}

/** The official controller's behaviour: only Services without a class. */
const CLASSLESS: ServedClasses = { classless: true };

/** A class; with a leading plus, Services without a class are served, too. Empty means only those. */
export const servedClasses: Parser<ServedClasses> = (text) => {
  if (text === "") return { value: CLASSLESS };
  const name = text.replace(/^\+/, "");
  const isClass = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name);
  return isClass && name.length <= 317
    ? { value: { name, classless: text.startsWith("+") } }
    : { allowed: "a class such as example.com/lotse, or +example.com/lotse to also serve Services without a class" };
};

/**
 * | Service | intent |
 * | --- | --- |
 * | of another class | `none`, even with our finalizer |
 * | being deleted, or no longer of type LoadBalancer, with our finalizer | `retire` |
 * | type LoadBalancer | `balance` |
 * | anything else | `none` |
 */
export type Intent = "balance" | "retire" | "none";

/** What a Service asks for. */
export function intentOf(service: V1Service, served: ServedClasses = CLASSLESS): Intent {
  const { spec, metadata } = service;
  const { loadBalancerClass, type } = spec ?? {};
  if (loadBalancerClass !== undefined && loadBalancerClass !== served.name) return "none";
  // A Service of another type has lost its class: only its finalizer and the owner label show whether it was ours.
  if (loadBalancerClass === undefined && type === "LoadBalancer" && !served.classless) return "none";
  const isWanted = type === "LoadBalancer" && metadata?.deletionTimestamp === undefined;
  if (isWanted) return "balance";
  return hasFinalizer(service) ? "retire" : "none";
}

/** `default/web`. */
export function serviceName({ metadata }: V1Service): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

/** The reference by which specs and units name a Service. */
export function serviceRef({ metadata }: V1Service): ServiceRef {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}

/** Names of foreign parts, as in the stack. */
export type ForeignParts = ReadonlySet<string>;

/** Represents all label selector targets, which are not told apart. */
const SELECTORS = "selectors";

/** No foreign parts. */
export const NOTHING_FOREIGN: ForeignParts = new Set();

/** What decides which parts of a load balancer are foreign. */
export interface Claimant {
  readonly service: V1Service;
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  /** How the load balancer is being adopted; absent when the Service owns it already. */
  readonly takeover?: Takeover;
  /** Number of label selectors among the targets. */
  readonly selectors: number;
}

/**
 * The foreign parts of a load balancer: those marked when it was adopted, for as long as they exist. At adoption also
 * everything on it that was not made for a Service. The Service cannot change or remove them, whatever it asks for later.
 */
export function findForeign(balancer: LoadBalancerState, claimant: Claimant): ForeignParts {
  const { takeover } = claimant;
  const parts = [
    ...balancer.listeners.map(({ listenPort }) => listenerPart(listenPort)),
    ...balancer.targets.map(targetPart),
    ...(claimant.selectors > 0 ? [SELECTORS] : []),
  ];
  const claimed = takeover === "returned" ? claimedParts(claimant) : undefined;
  const isNew = (part: string) => takeover === "found" || (claimed !== undefined && !claimed.has(part));
  return new Set(parts.filter((part) => isNew(part) || Object.hasOwn(balancer.labels, foreignMark(part))));
}

/** Numbers of foreign listeners and targets, without label selectors. */
export function countForeign(foreign: ForeignParts = NOTHING_FOREIGN): { listeners: number; targets: number } {
  const listeners = [...foreign].filter((part) => part.startsWith(listenerPart(0).slice(0, -1))).length;
  return { listeners, targets: foreign.size - listeners - Number(foreign.has(SELECTORS)) };
}

/** A load balancer without its foreign parts, so that nothing can change them. */
export function withoutForeign<T extends LoadBalancerSpec | LoadBalancerState>(balancer: T, foreign: ForeignParts): T {
  if (foreign.size === 0) return balancer;
  return {
    ...balancer,
    listeners: balancer.listeners.filter(({ listenPort }) => !foreign.has(listenerPart(listenPort))),
    targets: balancer.targets.filter((target) => !foreign.has(targetPart(target))),
  };
}

/** The foreign parts that differ from what the spec asks for. Those that match exactly serve the Service as they are. */
export function differingParts(foreign: ForeignParts, spec: LoadBalancerSpec, listed: LoadBalancerState): ForeignParts {
  if (foreign.size === 0) return foreign;
  const differing = new Set(differences(spec, listed).map(({ part }) => part));
  return new Set([...foreign].filter((part) => differing.has(part) || part === SELECTORS));
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
