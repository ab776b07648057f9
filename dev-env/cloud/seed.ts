/** Adds networks and servers without HTTP. */
import { parseBody } from "./api/schema.ts";
import { createNetwork, createNetworkBody, viewNetwork } from "./resources/networks.ts";
import { createServer, createServerBody } from "./resources/server-create.ts";
import { attachServer } from "./resources/server-network.ts";
import { type Server, viewServer } from "./resources/server-view.ts";
import type { Project } from "./state/project.ts";
import type { ServerStatus } from "./state/records.ts";

/** A network to add. By default it has one cloud subnet in Europe. */
export interface NetworkSeed {
  readonly name?: string;
  readonly ipRange?: string;
  /** Absent: 10.0.1.0/24, or the whole range of another network. Null: none. */
  readonly subnet?: string | null;
}

/** A server to add. By default it is running. */
export interface ServerSeed {
  readonly name: string;
  /** Id of the network to attach it to. */
  readonly network?: number;
  readonly type?: string;
  readonly location?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly status?: ServerStatus;
  readonly publicIpv4?: boolean;
  /** Address at which the data plane reaches the server. By default its own loopback address. */
  readonly backend?: string;
}

/** Adds a network, with the checks of the API. */
export function seedNetwork(project: Project, seed: NetworkSeed): ReturnType<typeof viewNetwork> {
  const { name = "network", ipRange = "10.0.0.0/16" } = seed;
  const subnet = seed.subnet === undefined ? (ipRange === "10.0.0.0/16" ? "10.0.1.0/24" : ipRange) : seed.subnet;
  const body = {
    name,
    ip_range: ipRange,
    subnets: subnet === null ? [] : [{ type: "cloud", network_zone: "eu-central", ip_range: subnet }],
  };
  const network = project.transaction(() => createNetwork(project, parseBody(createNetworkBody, body)));
  return viewNetwork(project, network);
}

/** Adds a server, with the checks of the API but without actions. */
export function seedServer(project: Project, seed: ServerSeed): Server {
  const body = {
    name: seed.name,
    server_type: seed.type ?? "cx23",
    image: "ubuntu-24.04",
    location: seed.location ?? "fsn1",
    labels: seed.labels,
    start_after_create: false,
    public_net: { enable_ipv4: seed.publicIpv4 ?? true, enable_ipv6: true },
  };
  const server = project.transaction(() => {
    const created = createServer(project, parseBody(createServerBody, body));
    const { status = "running", backend = created.backend } = seed;
    const ready = project.servers.put({ ...created, status, backend });
    if (seed.network === undefined) return ready;
    const place = { network: seed.network, ip: undefined, alias_ips: undefined, ip_range: undefined };
    return attachServer(project, ready, place);
  });
  return viewServer(project, server);
}
