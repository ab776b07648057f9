/** The program of a run: declares units and performs no lookups. */
import { Certificate } from "../components/certificate.ts";
import { LoadBalancer } from "../components/load-balancer.ts";
import { Route } from "../components/route.ts";
import { certificateArgs, loadBalancerArgs } from "../units/args.ts";
import { unitOf } from "../units/names.ts";
import type { UnitSpec } from "../units/spec.ts";

/** Declares one unit, inside a program. */
export function declare(spec: UnitSpec): void {
  const name = unitOf(spec);
  switch (spec.kind) {
    case "load-balancer":
      new LoadBalancer(name, loadBalancerArgs(spec));
      return;
    case "route":
      new Route(name, spec);
      return;
    case "certificate":
      new Certificate(name, certificateArgs(spec));
      return;
  }
}
