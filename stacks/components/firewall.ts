/** The Pulumi component of one firewall. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { partName } from "../units/names.ts";
import { COMPONENT_TYPE, type Labels } from "./component.ts";

/** A firewall and its rules. */
export interface FirewallArgs {
  readonly name: pulumi.Input<string>;
  readonly labels?: Labels;
  readonly rules: readonly FirewallRuleArgs[];
}

/** What may come in (`direction: "in"`, the default) from `sourceIps`, or go out to `destinationIps`. */
export interface FirewallRuleArgs {
  readonly direction?: pulumi.Input<string>;
  /** `tcp`, `udp`, `icmp`, `gre` or `esp`. */
  readonly protocol: pulumi.Input<string>;
  /** A port, a range such as `80-85`, or `any`. Required for TCP and UDP. */
  readonly port?: pulumi.Input<string>;
  readonly sourceIps?: readonly pulumi.Input<string>[];
  readonly destinationIps?: readonly pulumi.Input<string>[];
  readonly description?: pulumi.Input<string>;
}

/**
 * A firewall. It applies to the public addresses of the servers that refer to it; the private network is not filtered.
 *
 * @example
 * ```ts
 * const firewall = new Firewall("firewall", {
 *   name: "production",
 *   rules: [{ protocol: "tcp", port: "22", sourceIps: ["198.51.100.0/24"], description: "SSH" }],
 * });
 * ```
 */
export class Firewall extends pulumi.ComponentResource {
  readonly firewallId: pulumi.Output<number>;

  constructor(name: string, args: FirewallArgs, opts?: pulumi.ComponentResourceOptions) {
    super(COMPONENT_TYPE.firewall, name, {}, opts);
    const rules = args.rules.map(({ sourceIps, destinationIps, ...rule }) => ({
      direction: "in",
      ...rule,
      ...(sourceIps && { sourceIps: [...sourceIps] }),
      ...(destinationIps && { destinationIps: [...destinationIps] }),
    }));
    const firewall = new hcloud.Firewall(partName(name, "firewall"), { ...args, rules }, { parent: this });
    this.firewallId = firewall.id.apply(Number);
    this.registerOutputs({ firewallId: this.firewallId });
  }
}
