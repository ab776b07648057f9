import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { attachmentInputs, balancerInputs, isPrivate, listenerInputs, targetInputs } from "../units/inputs.ts";
import { COMPONENT_TYPE, listenerPart, loadBalancerUnit, partName, rdnsPart, targetPart } from "../units/names.ts";
import type { LoadBalancerSpec } from "../units/spec.ts";

/**
 * One Service's balancer with its network, listeners and targets.
 *
 * Everything on it is `deletedWith` the balancer: removing the unit is one call. Private targets wait for the network,
 * because the provider only sleeps and fails when it is not there yet (hcloud-api.md, pitfall 5).
 */
export class LoadBalancer extends pulumi.ComponentResource {
  constructor(spec: LoadBalancerSpec) {
    const unit = loadBalancerUnit(spec.service);
    super(COMPONENT_TYPE["load-balancer"], unit);

    const balancer = new hcloud.LoadBalancer(
      partName(unit, "balancer"),
      { ...balancerInputs(spec), ...spec.place },
      // A move is not possible in place, and a new address behind a user's back is worse than the old location.
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
        // A balancer that is attached anew has lost its private targets: by this they are made again behind it.
        // `replaceWith` would say so more plainly, but makes the engine write a newer state format.
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
