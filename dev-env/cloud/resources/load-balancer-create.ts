/** Creates load balancers, and attaches them to networks. */
import { found, invalidField, refuse } from "../api/errors.ts";
import { cidrRange, id, idOrName, ipv4, name, pick } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { claimName } from "../api/resource.ts";
import { array, boolean, type Checked, object, oneOf, optional } from "../api/schema.ts";
import { defaultDnsPtr } from "../state/addresses.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerAddress, LoadBalancerRecord } from "../state/records.ts";
import { catalogue, type Location, locationNamed } from "./catalogue.ts";
import { addListener, listenerBody } from "./listener-rules.ts";
import { assignIp } from "./network-members.ts";
import { type Assignment, assignTo } from "./primary-ip-rules.ts";
import { addTarget, targetBody } from "./target-rules.ts";

/** Body of `change_algorithm`, also used for new load balancers. */
export const algorithmBody = object({ type: oneOf("round_robin", "least_connections") });

/** Body of `POST /load_balancers`. */
export const createBalancerBody = object({
  name,
  load_balancer_type: idOrName,
  algorithm: optional(algorithmBody),
  location: optional(idOrName),
  network_zone: optional(idOrName),
  labels: optional(labels),
  services: optional(array(listenerBody)),
  targets: optional(array(targetBody)),
  public_interface: optional(boolean),
  network: optional(id),
  public_net: optional(object({ ipv4: optional(id), ipv6: optional(id) })),
});

/** Body of `attach_to_network`. Without an address, the first free one is assigned. */
export const attachBalancerBody = object({ network: id, ip: optional(ipv4), ip_range: optional(cidrRange) });

type CreateBalancer = Checked<typeof createBalancerBody>;

/** Creates a load balancer with all its parts. */
export function createBalancer(project: Project, body: CreateBalancer): LoadBalancerRecord {
  claimName(project.loadBalancers, body.name);
  const wanted = body.load_balancer_type;
  const type = found(pick(catalogue.loadBalancerTypes, wanted), "load balancer type", wanted);
  const location = locationOf(body);
  const base = project.newResource(body.name, body.labels);
  const bare: LoadBalancerRecord = {
    ...base,
    public_net: publicNet(project, body, { location: location.name, assignee: { type: "load_balancer", id: base.id } }),
    private_net: [],
    location: location.name,
    load_balancer_type: type.name,
    protection: { delete: false },
    services: [],
    targets: [],
    algorithm: body.algorithm ?? { type: "round_robin" },
    attachedAt: 0,
  };
  const noPlace = { ip: undefined, ip_range: undefined };
  const attached =
    body.network === undefined ? bare : attachBalancer(project, bare, { network: body.network, ...noPlace });
  const listening = (body.services ?? []).reduce((lb, service) => addListener(project, lb, service), attached);
  return project.loadBalancers.put(
    (body.targets ?? []).reduce((lb, target) => addTarget(project, lb, target), listening),
  );
}

function locationOf({ location, network_zone }: CreateBalancer): Location {
  if ((location === undefined) === (network_zone === undefined)) {
    throw invalidField("location", "Exactly one of location and network_zone must be given.");
  }
  const { locations } = catalogue;
  if (location !== undefined) return found(pick(locations, location), "location", location);
  const first = locations.find((place) => place.network_zone === network_zone);
  if (!first) throw invalidField("network_zone", "Unknown network zone.");
  return first;
}

function publicNet(
  project: Project,
  body: CreateBalancer,
  home: Pick<Assignment, "location" | "assignee">,
): LoadBalancerRecord["public_net"] {
  const enabled = body.public_interface ?? true;
  const own = project.addresses.nextBalancer();
  const address = (version: "ipv4" | "ipv6"): LoadBalancerAddress => {
    const wanted = body.public_net?.[version];
    if (wanted !== undefined && !enabled) throw invalidField("public_net", "Needs the public interface.");
    if (wanted === undefined) {
      const ip = own[version];
      return { id: null, ip, blocked: false, dns_ptr: version === "ipv4" ? defaultDnsPtr(ip) : null };
    }
    const { id, ip, dns_ptr } = assignTo(project, wanted, { version, ...home });
    return { id, ip: ip.replace("::/64", "::1"), blocked: false, dns_ptr: dns_ptr[0]?.dns_ptr ?? null };
  };
  return { enabled, ipv4: address("ipv4"), ipv6: address("ipv6") };
}

/** Attaches a load balancer to a network, if it is in none, in a subnet of its zone. */
export function attachBalancer(
  project: Project,
  lb: LoadBalancerRecord,
  body: Checked<typeof attachBalancerBody>,
): LoadBalancerRecord {
  const network = found(project.networks.get(body.network), "network", body.network);
  if (lb.private_net.length > 0) {
    throw refuse("load_balancer_already_attached", "load balancer is already attached to a network");
  }
  const zone = locationNamed(lb.location).network_zone;
  const ip = assignIp(project, network, { zone, ip: body.ip, ipRange: body.ip_range });
  const attachedAt = project.clock.now() + project.behaviour.attachLagMs;
  return { ...lb, private_net: [{ network: network.id, ip }], attachedAt };
}
