/** The inline Pulumi program of a run. */
import { Certificate } from "../components/certificate.ts";
import { LoadBalancer } from "../components/load-balancer.ts";
import { Route } from "../components/route.ts";
import type { NodeRecord, UnitSpec } from "../units/spec.ts";

/** What a program declares: units, and node records for the stack's outputs. */
export interface Declaration {
  readonly units: readonly UnitSpec[];
  readonly nodes: Readonly<Record<string, NodeRecord>>;
}

/** The program of a run. It declares every given unit, performs no lookups, and returns the stack's outputs. */
export function programOf({ units, nodes }: Declaration): () => Promise<Record<string, unknown>> {
  return async () => {
    for (const unit of units) declare(unit);
    return { nodes };
  };
}

function declare(spec: UnitSpec): void {
  switch (spec.kind) {
    case "load-balancer":
      new LoadBalancer(spec);
      return;
    case "route":
      new Route(spec);
      return;
    case "certificate":
      new Certificate(spec);
      return;
  }
}
