/** What a project contains: resources of several collections, limited by their labels. */
import type { Resource } from "./api.ts";

/** Collections of the API with the Pulumi types of their resources, each after those that it may depend on. */
const TYPES = {
  ssh_keys: "hcloud:index/sshKey:SshKey",
  firewalls: "hcloud:index/firewall:Firewall",
  placement_groups: "hcloud:index/placementGroup:PlacementGroup",
  networks: "hcloud:index/network:Network",
  zones: "hcloud:index/zone:Zone",
  // Those that are uploaded are deleted in the same way.
  certificates: "hcloud:index/managedCertificate:ManagedCertificate",
  load_balancers: "hcloud:index/loadBalancer:LoadBalancer",
  images: "hcloud:index/snapshot:Snapshot",
  primary_ips: "hcloud:index/primaryIp:PrimaryIp",
  floating_ips: "hcloud:index/floatingIp:FloatingIp",
  servers: "hcloud:index/server:Server",
  volumes: "hcloud:index/volume:Volume",
};

/** A collection of the API. */
export type Collection = keyof typeof TYPES;

/** All collections. */
export const COLLECTIONS = Object.keys(TYPES) as readonly Collection[];

/** A resource, with fields that only some kinds have. */
export interface Listing extends Resource {
  /** A word, except for certificates. */
  readonly status?: unknown;
  readonly public_net?: { readonly ipv4?: { readonly ip: string } | null };
  readonly private_net?: readonly { readonly network: number }[];
  readonly targets?: readonly { readonly server?: { readonly id: number } }[];
}

/** A resource with its collection and its Pulumi type. */
export interface Found extends Omit<Listing, "id"> {
  readonly id: string;
  readonly collection: Collection;
  readonly type: string;
}

/** Reads the part of a collection that a label selector selects; an empty one selects everything. */
export type ListReader = (collection: Collection, selector: string) => Promise<readonly Listing[]>;

/** Resources of several collections, in this order. */
export async function listAll(
  read: ListReader,
  collections: readonly Collection[],
  selector: string,
): Promise<readonly Found[]> {
  const lists = collections.map(async (collection) => {
    const list = await read(collection, selector);
    return list.map((it) => ({ ...it, id: String(it.id), collection, type: TYPES[collection] }));
  });
  return (await Promise.all(lists)).flat();
}

/** The kind of a resource in words, such as `load balancer`. */
export function kindOf({ collection }: Found): string {
  return collection.slice(0, -1).replace("_", " ");
}

/** Resources for the user: `server node-1 (4711), network cluster (4712)`. */
export function describeFound(found: readonly Found[]): string {
  return found.map((it) => `${kindOf(it)} ${it.name} (${it.id})`).join(", ");
}
