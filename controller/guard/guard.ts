/** Holds back what no object asks for, if there is suspiciously much of it: removals of units, and of targets. */
import type { V1Node } from "@kubernetes/client-node";
import type { Difference } from "../../stacks/units/difference.ts";
import { isTarget, kindOf, targetPart } from "../../stacks/units/names.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import { balancerIn, isBalanced, type ServiceIntent } from "../render/intents.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { parseProviderId } from "../render/node/provider-id.ts";
import { ENV_PREFIX } from "../render/service/options/annotations.ts";
import type { Settings } from "../render/service/options/settings.ts";
import { type Plan, type PlannedUnit, planRun, type Situation } from "./plan.ts";

/** Removals are held back when they exceed both limits. */
export interface GuardLimits {
  /** Number of removals. */
  readonly removals: number;
  /** Removals as a share of all units of a kind. */
  readonly share: number;
}

/** The defaults. */
export const GUARD_LIMITS: GuardLimits = { removals: 5, share: 1 / 3 };

/** A plan after the guard. */
export interface Guarded {
  readonly plan: Plan;
  /** Set when removals were taken out of the plan: which ones, for an Event. */
  readonly stopped?: string;
  /** Number of removals held back. */
  readonly held: number;
}

/** Whether a number of removals, of `total` that exist, is more than both limits. */
export function exceeds(count: number, total: number, { removals, share }: GuardLimits): boolean {
  return count > removals && count > total * share;
}

/**
 * Returns the plan, without the removals that no object asked for if they exceed the limits. Other steps always pass. Each
 * kind of unit is compared with its own number: load balancers, which tenants create, must not make room for routes.
 */
export function guard({ rendered, plan, heldTargets }: Situation, limits: GuardLimits = GUARD_LIMITS): Guarded {
  const states = Object.values(rendered.existing);
  const totalOf = ([first]: Plan) => states.filter((state) => first && state?.kind === kindOf(first.unit)).length;
  const settings = new Map(rendered.services.filter(isBalanced).map((intent) => [intent.unit, intent.settings]));
  const groups = Map.groupBy(
    plan.filter((step) => isSurprising(step, settings.get(step.unit))),
    fateOf,
  );
  const tooMany = [...groups].filter(([, steps]) => exceeds(steps.length, totalOf(steps), limits));
  const held = new Set(tooMany.flatMap(([, steps]) => steps));
  const texts = tooMany.map(([fate, steps]) => describeHeld(steps.map(unitOf), totalOf(steps), fate));
  if (heldTargets) texts.push(describeHeld(heldTargets.names, heldTargets.total, "targets would be removed"));
  return {
    plan: plan.filter((step) => !held.has(step)),
    ...(texts.length > 0 && { stopped: texts.join("; ") }),
    held: held.size + (heldTargets?.names.length ?? 0),
  };
}

/**
 * A removal without an object that asks for it. Another network or subnet replaces the attachment and all private targets;
 * Services ask for neither, except for a subnet by annotation.
 */
function isSurprising(step: PlannedUnit, settings: Settings | undefined): boolean {
  if (step.kind === "remove") return !step.asked;
  const isDefault = settings?.sources.privateSubnet?.startsWith(ENV_PREFIX) ?? false;
  const moves = step.differences.filter(({ part, have }) => part === "network" && have !== undefined);
  return moves.some(({ field }) => field === "id" || (field === "subnet" && isDefault));
}

function unitOf({ unit }: PlannedUnit): UnitId {
  return unit;
}

function fateOf({ kind, unit }: PlannedUnit): string {
  return `${kindOf(unit).replace("-", " ")}s would be ${kind === "remove" ? "removed" : "moved to another network or subnet"}`;
}

function describeHeld(names: readonly string[], total: number, fate: string): string {
  return `${names.length} of ${total} ${fate} although no object asks for it: ${nameFirst(names, 3)}`;
}

/** Names the first few and counts the rest: `a, b and 3 more`. */
export function nameFirst(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** A target that a plan removes although no object asks for it. */
interface LostTarget {
  readonly unit: UnitId;
  readonly part: string;
  /** The Node on the target's server; absent when no Node is. */
  readonly node?: V1Node;
}

/**
 * | Node on the target's server | target goes | is asked for |
 * | --- | --- | --- |
 * | being deleted, excluded, or not selected by the Service | yes | yes |
 * | its server is not listed, or cannot be reached as the Service wants it | yes | no |
 * | none | yes | no |
 */
function lostTargets({ rendered, plan }: Situation, nodes: readonly V1Node[]): readonly LostTarget[] {
  const leftOut = new Map(
    rendered.services
      .filter(isBalanced)
      .map((intent) => [intent.unit, new Set(intent.leftOut.map(({ node }) => node))] as const),
  );
  const lost = plan.flatMap(({ kind, unit, differences }) =>
    kind === "make" && leftOut.has(unit) ? differences.filter(isRemoved).map(({ part }) => ({ unit, part })) : [],
  );
  if (lost.length === 0) return [];
  const byPart = new Map(nodes.flatMap((node) => partsOf(node).map((part) => [part, node] as const)));
  return lost.flatMap(({ unit, part }): readonly LostTarget[] => {
    const node = byPart.get(part);
    if (!node) return [{ unit, part }];
    return leftOut.get(unit)?.has(node.metadata?.name ?? "") ? [{ unit, part, node }] : [];
  });
}

function isRemoved({ part, want, have }: Difference): boolean {
  return isTarget(part) && want === undefined && have !== undefined;
}

/** The targets that a Node can be: its cloud server, or the addresses of its dedicated server. */
function partsOf({ spec, status }: V1Node): readonly string[] {
  const id = parseProviderId(spec?.providerID);
  if (id.kind === "cloud") return [targetPart({ kind: "server", serverId: id.id, usePrivateIp: false })];
  if (id.kind !== "robot") return [];
  return (status?.addresses ?? []).map(({ address }) => targetPart({ kind: "ip", ip: address }));
}

/** Servers of Ready Nodes whose targets would go because of a list: a direct read must confirm what the list says. */
export function doubtfulServers(situation: Situation, nodes: readonly V1Node[]): readonly number[] {
  const ids = lostTargets(situation, nodes).flatMap(({ node }) => {
    const id = node && isReady(node) ? parseProviderId(node.spec?.providerID) : undefined;
    return id?.kind === "cloud" ? [id.id] : [];
  });
  return [...new Set(ids)];
}

/**
 * Leaves targets in the specs if suspiciously many would go at once. Counts servers and addresses, not targets: a tenant
 * could raise the number of targets with load balancers of its own.
 */
export function holdTargets(situation: Situation, nodes: readonly V1Node[], limits: GuardLimits): Situation {
  const { rendered } = situation;
  const lost = lostTargets(situation, nodes);
  const names = [...new Set(lost.map(({ part }) => part))];
  const states = Object.values(rendered.existing).flatMap((state) => (state?.kind === "load-balancer" ? [state] : []));
  const all = new Set(states.flatMap(({ targets }) => targets.map(targetPart)));
  if (!exceeds(names.length, all.size, limits)) return situation;
  const held = Map.groupBy(lost, ({ unit }) => unit);
  const services = rendered.services.map((intent): ServiceIntent => {
    const parts = new Set(held.get(intent.unit)?.map(({ part }) => part));
    const balancer = balancerIn(rendered.existing, intent.unit);
    if (intent.kind !== "balance" || !balancer || parts.size === 0) return intent;
    const kept = balancer.targets.filter((target) => parts.has(targetPart(target)));
    return { ...intent, spec: { ...intent.spec, targets: [...intent.spec.targets, ...kept] } };
  });
  const careful = { ...rendered, services };
  return { rendered: careful, plan: planRun(careful), heldTargets: { names, total: all.size } };
}
