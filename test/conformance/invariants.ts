/** Invariants of the simulated cloud. */
import type { Cloud, CloudState } from "../../dev-env/cloud/cloud.ts";

/** Checks everything that must hold at any time. Returns the violations. */
export function brokenInvariants(cloud: Cloud): readonly string[] {
  return CHECKS.flatMap((check) => check(cloud.state));
}

type Check = (state: CloudState) => readonly string[];

const CHECKS: readonly Check[] = [uniqueNames, uniqueAddresses, serverReferences, networkRules, balancerRules, users];

function uniqueNames(state: CloudState): readonly string[] {
  const kinds = ["servers", "networks", "loadBalancers", "certificates", "firewalls", "sshKeys", "primaryIps"] as const;
  return kinds.flatMap((kind) =>
    duplicates(state[kind].values().map(({ name }) => name)).map((name) => `${kind}: two ${name}`),
  );
}

function duplicates(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

function uniqueAddresses(state: CloudState): readonly string[] {
  const ofServers = state.servers
    .values()
    .flatMap(({ private_net }) =>
      private_net.flatMap((net) => [net.ip, ...net.alias_ips].map((ip) => `${net.network}/${ip}`)),
    );
  const ofBalancers = state.loadBalancers
    .values()
    .flatMap(({ private_net }) => private_net.map(({ network, ip }) => `${network}/${ip}`));
  const publicOnes = [
    ...state.primaryIps.values().map(({ ip }) => ip),
    ...state.loadBalancers.values().flatMap(({ public_net: { ipv4 } }) => (ipv4.id === null ? [ipv4.ip ?? ""] : [])),
  ];
  return [...duplicates([...ofServers, ...ofBalancers]), ...duplicates(publicOnes)].map((ip) => `address twice: ${ip}`);
}

function serverReferences(state: CloudState): readonly string[] {
  return state.servers.values().flatMap((server) => {
    const broken: string[] = [];
    for (const { network } of server.private_net) {
      if (!state.networks.get(network)?.servers.includes(server.id))
        broken.push(`server ${server.id} in network ${network}`);
    }
    for (const ip of [server.public_net.ipv4, server.public_net.ipv6]) {
      if (ip && state.primaryIps.get(ip.id)?.assignee_id !== server.id)
        broken.push(`server ${server.id} has ip ${ip.id}`);
    }
    if (server.private_net.length > 3) broken.push(`server ${server.id} in too many networks`);
    return broken;
  });
}

function networkRules(state: CloudState): readonly string[] {
  return state.networks.values().flatMap((network) => {
    const ranges = [
      ...network.subnets.map(({ ip_range }) => ip_range),
      ...network.routes.map((route) => route.destination),
    ];
    const broken = duplicates(ranges).map((range) => `network ${network.id}: ${range} twice`);
    if (network.routes.length > 100 || network.subnets.length > 50) broken.push(`network ${network.id} too large`);
    for (const id of network.servers) if (!state.servers.get(id)) broken.push(`network ${network.id}: no server ${id}`);
    for (const id of network.load_balancers) {
      if (!state.loadBalancers.get(id)) broken.push(`network ${network.id}: no balancer ${id}`);
    }
    return broken;
  });
}

function balancerRules(state: CloudState): readonly string[] {
  return state.loadBalancers.values().flatMap((lb) => {
    const broken: string[] = [];
    const { max_services, max_targets } = lb.load_balancer_type;
    const ports = lb.services.flatMap(({ listen_port, http }) => [listen_port, ...(http?.redirect_http ? [80] : [])]);
    if (new Set(ports).size < ports.length) broken.push(`lb ${lb.id}: port twice`);
    if (lb.services.length > max_services || lb.targets.length > max_targets)
      broken.push(`lb ${lb.id}: over its limits`);
    if (lb.private_net.length > 1) broken.push(`lb ${lb.id}: two networks`);
    for (const target of lb.targets) {
      if (target.type === "server" && !state.servers.get(target.server.id))
        broken.push(`lb ${lb.id}: no target server`);
      const isPrivate = target.type !== "ip" && target.use_private_ip;
      if (isPrivate && lb.private_net.length === 0) broken.push(`lb ${lb.id}: private target without network`);
      if (!isPrivate && target.type !== "ip" && !lb.public_net.enabled) broken.push(`lb ${lb.id}: public target`);
    }
    if (!lb.public_net.enabled && lb.private_net.length === 0) broken.push(`lb ${lb.id}: cannot be reached`);
    return broken;
  });
}

function users(state: CloudState): readonly string[] {
  const used = state.loadBalancers
    .values()
    .flatMap((lb) => lb.services.flatMap(({ http }) => http?.certificates ?? []));
  const lost = used.filter((id) => !state.certificates.get(id)).map((id) => `no certificate ${id}`);
  const groups = state.placementGroups.values().filter(({ servers }) => servers.length > 10);
  return [...lost, ...groups.map(({ id }) => `placement group ${id} too large`)];
}
