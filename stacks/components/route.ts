/** The Pulumi component of one route. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { routeInputs } from "../units/inputs.ts";
import { COMPONENT_TYPE, partName, routeUnit } from "../units/names.ts";
import type { RouteSpec } from "../units/spec.ts";

/**
 * The route to one node's pods. A new gateway replaces it, old route first: the API allows one route per destination.
 */
export class Route extends pulumi.ComponentResource {
  constructor(spec: RouteSpec) {
    const unit = routeUnit(spec);
    super(COMPONENT_TYPE.route, unit);
    new hcloud.NetworkRoute(partName(unit, "route"), routeInputs(spec), { parent: this, deleteBeforeReplace: true });
    this.registerOutputs({});
  }
}
