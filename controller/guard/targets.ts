/** Targets that a plan would remove although no object asks for it. */
import type { V1Node } from "@kubernetes/client-node";
import type { Difference } from "../../stacks/units/difference.ts";
import { isTarget, targetPart } from "../../stacks/units/names.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import type { ServiceIntent } from "../render/intents.ts";
import { isReady } from "../render/node/lifecycle.ts";
import { parseProviderId } from "../render/node/provider-id.ts";
import { exceeds, type GuardLimits } from "./guard.ts";
import { planRun, type Situation } from "./plan.ts";

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
    rendered.services.flatMap((intent) =>
      intent.kind === "balance" ? [[intent.unit, new Set(intent.leftOut.map(({ node }) => node))] as const] : [],
    ),
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
    const state = rendered.existing[intent.unit];
    if (intent.kind !== "balance" || state?.kind !== "load-balancer" || parts.size === 0) return intent;
    const kept = state.targets.filter((target) => parts.has(targetPart(target)));
    return { ...intent, spec: { ...intent.spec, targets: [...intent.spec.targets, ...kept] } };
  });
  const careful = { ...rendered, services };
  return { rendered: careful, plan: planRun(careful), heldTargets: { names, total: all.size } };
}
