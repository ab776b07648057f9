/** The Pulumi component of one route. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { routeInputs } from "../units/inputs.ts";
import { partName } from "../units/names.ts";
import { COMPONENT_TYPE } from "./component.ts";

/** A route of a network. */
export interface RouteArgs {
  readonly networkId: pulumi.Input<number>;
  /** Must lie inside the network's range. */
  readonly destination: pulumi.Input<string>;
  readonly gateway: pulumi.Input<string>;
}

/**
 * A route of a network. A new gateway replaces it, old route first: the API allows one route per destination.
 *
 * @example
 * ```ts
 * new Route("pods-1", { networkId: network.networkId, destination: "10.244.1.0/24", gateway: "10.0.0.11" });
 * ```
 */
export class Route extends pulumi.ComponentResource {
  readonly routeId: pulumi.Output<string>;

  constructor(name: string, args: RouteArgs, opts?: pulumi.ComponentResourceOptions) {
    super(COMPONENT_TYPE.route, name, {}, opts);
    const options = { parent: this, deleteBeforeReplace: true };
    this.routeId = new hcloud.NetworkRoute(partName(name, "route"), routeInputs(args), options).id;
    this.registerOutputs({ routeId: this.routeId });
  }
}
