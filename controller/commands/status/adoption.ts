/** Which load balancer each Service would have after a migration, and what that would change. Pure. */
import type { LoadBalancerState } from "../../../stacks/units/spec.ts";
import type { Rendered } from "../../render/cluster.ts";
import type { ServiceIntent } from "../../render/intents.ts";
import { serviceName } from "../../render/service/ours.ts";
import { counted } from "../output.ts";
import type { Forecast } from "../preview/forecast.ts";

/**
 * | Service | finds |
 * | --- | --- |
 * | has a load balancer with its label | `own` |
 * | names one without an owner | `adoptable` |
 * | names none that exists | `none`: one would be created |
 * | is being deleted | `leaving` |
 * | names one with another owner, or has two | `refused` |
 */
interface Adoption {
  /** `default/web`. */
  readonly service: string;
  readonly finds: "own" | "adoptable" | "none" | "leaving" | "refused";
  readonly balancer?: { readonly id: number; readonly name: string; readonly addresses: readonly string[] };
  /** Number of resources that the first run would change. */
  readonly changes: number;
  readonly mistakes: readonly string[];
}

/** What each Service of the cluster finds. */
export function adoptionsOf({ services, existing }: Rendered, { units }: Forecast): readonly Adoption[] {
  const changes = new Map(units.map(({ unit, parts }) => [unit, parts.length]));
  return services.map((intent) => {
    const state = existing[intent.unit];
    const balancer = state?.kind === "load-balancer" ? state : undefined;
    return {
      service: serviceName(intent.service),
      finds: findsOf(intent, balancer !== undefined),
      ...(balancer && { balancer: { id: balancer.id, name: balancer.name, addresses: addressesOf(balancer) } }),
      changes: changes.get(intent.unit) ?? 0,
      mistakes: intent.kind === "retire" ? [] : intent.mistakes,
    };
  });
}

function findsOf(intent: ServiceIntent, exists: boolean): Adoption["finds"] {
  if (intent.kind === "retire") return "leaving";
  if (intent.kind === "refused") return "refused";
  if (intent.adopts !== undefined) return "adoptable";
  return exists ? "own" : "none";
}

function addressesOf({ ipv4, ipv6 }: LoadBalancerState): readonly string[] {
  return [ipv4, ipv6].filter((address) => address !== undefined);
}

const WORDS = {
  own: "has",
  adoptable: "would take over",
  none: "has",
  leaving: "is being deleted and has",
  refused: "is refused and has",
} as const;

/** The list for a terminal, one line per Service. */
export function adoptionText(adoptions: readonly Adoption[]): string {
  const lines = adoptions.map(({ service, finds, balancer, changes }) => {
    const which = balancer
      ? `load balancer ${[`${balancer.name} (id ${balancer.id})`, ...balancer.addresses].join(", ")}`
      : "no load balancer";
    const next = finds === "none" ? ", one would be created" : "";
    const count = changes === 0 ? "no changes" : `${counted(changes, "resource")} to change`;
    return `Service ${service} ${WORDS[finds]} ${which}${next}: ${count}\n`;
  });
  return lines.length > 0 ? lines.join("") : "no Service of type LoadBalancer is managed by Lotse\n";
}
