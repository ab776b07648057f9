/** Which load balancer each Service would have after a migration, and what that would change. Pure. */
import type { Rendered } from "../../render/cluster.ts";
import { balancerIn, type ServiceIntent } from "../../render/intents.ts";
import { serviceName } from "../../render/service/ours.ts";
import { balancerText, counted, type ShownBalancer, shownBalancer } from "../output.ts";
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
  readonly balancer?: ShownBalancer;
  /** Number of resources that the first run would change. */
  readonly changes: number;
  readonly mistakes: readonly string[];
}

/** What each Service of the cluster finds. */
export function adoptionsOf({ services, existing }: Rendered, { units }: Forecast): readonly Adoption[] {
  const changes = new Map(units.map(({ unit, parts }) => [unit, parts.length]));
  return services.map((intent) => {
    const balancer = balancerIn(existing, intent.unit);
    return {
      service: serviceName(intent.service),
      finds: findsOf(intent, balancer !== undefined),
      ...(balancer && { balancer: shownBalancer(balancer) }),
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
    const which = balancer ? balancerText(balancer) : "no load balancer";
    const next = finds === "none" ? ", one would be created" : "";
    const count = changes === 0 ? "no changes" : `${counted(changes, "resource")} to change`;
    return `Service ${service} ${WORDS[finds]} ${which}${next}: ${count}\n`;
  });
  return lines.length > 0 ? lines.join("") : "no Service of type LoadBalancer is managed by Lotse\n";
}
