/** The Pulumi component of one load balancer. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { attachmentInputs, balancerInputs, isPrivate, listenerInputs, targetInputs } from "../units/inputs.ts";
import { COMPONENT_TYPE, listenerPart, loadBalancerUnit, partName, rdnsPart, targetPart } from "../units/names.ts";
import type { LoadBalancerSpec } from "../units/spec.ts";

/**
 * The load balancer of one Service, with its network, listeners and targets.
 *
 * All parts are `deletedWith` the load balancer, so that removing the unit takes one call. Targets depend on the
 * network, because the provider sleeps and then fails if it adds a private target before the attachment exists.
 */
export class LoadBalancer extends pulumi.ComponentResource {
  constructor(spec: LoadBalancerSpec) {
    const unit = loadBalancerUnit(spec.service);
    super(COMPONENT_TYPE["load-balancer"], unit);

    const balancer = new hcloud.LoadBalancer(
      partName(unit, "balancer"),
      { ...balancerInputs(spec), ...spec.place },
      // Moving would replace the load balancer, and an unexpected new address is worse than the old location.
      { parent: this, ignoreChanges: ["location", "networkZone"] },
    );
    const loadBalancerId = balancer.id.apply(Number);
    const part = { parent: this, deletedWith: balancer, deleteBeforeReplace: true };

    const network =
      spec.network &&
      new hcloud.LoadBalancerNetwork(
        partName(unit, "network"),
        { loadBalancerId, ...attachmentInputs(spec.network) },
        part,
      );
    for (const version of ["ipv4", "ipv6"] as const) {
      const dnsPtr = spec.rdns?.[version];
      if (!dnsPtr) continue;
      const name = partName(unit, rdnsPart(version));
      new hcloud.Rdns(name, { loadBalancerId, ipAddress: balancer[version], dnsPtr }, part);
    }
    for (const listener of spec.listeners) {
      const name = partName(unit, listenerPart(listener.listenPort));
      new hcloud.LoadBalancerService(name, { loadBalancerId: balancer.id, ...listenerInputs(listener) }, part);
    }
    for (const target of spec.targets) {
      new hcloud.LoadBalancerTarget(
        partName(unit, targetPart(target)),
        // Attaching a load balancer again drops its private targets. Taking the id from the attachment replaces them
        // with it. `replaceWith` would be clearer, but makes the engine write a newer state format.
        {
          loadBalancerId: network && isPrivate(target) ? network.loadBalancerId : loadBalancerId,
          ...targetInputs(target),
        },
        { ...part, dependsOn: network ? [network] : [] },
      );
    }
    this.registerOutputs({});
  }
}
