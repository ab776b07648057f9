/** What the cloud has of an environment: its own parts by their label, and what a controller inside it made. */
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { LABEL } from "./layout.ts";

/** One resource of the API, as far as we look at it. */
export interface Listed {
  readonly id: number;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Networks only. */
  readonly subnets?: readonly { readonly ip_range: string }[];
  /** Balancers only. */
  readonly private_net?: readonly { readonly network: number }[];
  readonly services?: readonly { readonly http?: { readonly certificates?: readonly number[] } }[];
  /** Servers only. */
  readonly status?: string;
  readonly public_net?: { readonly ipv4: { readonly ip: string } | null };
}

/** Resources by collection of the API. */
export interface Listing {
  readonly ssh_keys: readonly Listed[];
  readonly firewalls: readonly Listed[];
  readonly placement_groups: readonly Listed[];
  readonly networks: readonly Listed[];
  readonly certificates: readonly Listed[];
  readonly load_balancers: readonly Listed[];
  readonly servers: readonly Listed[];
}

/** Reads a whole collection, as far as a label selector matches. */
export type ListReader = (collection: keyof Listing, selector: string) => Promise<readonly Listed[]>;

/**
 * Everything that has to go for an environment to be gone. Balancers are a controller's and carry its label, not ours:
 * those in our network are of our cluster, those of Services with these uids too, and so are the certificates they use.
 */
export async function listEnvironment(
  read: ListReader,
  environment: string,
  uids: readonly string[] = [],
): Promise<Listing> {
  const own = (collection: keyof Listing) => read(collection, `${LABEL}=${environment}`);
  const made = (collection: keyof Listing) => read(collection, SERVICE_UID_LABEL);
  const [ssh_keys, firewalls, placement_groups, networks, servers, balancers, certificates] = await Promise.all([
    own("ssh_keys"),
    own("firewalls"),
    own("placement_groups"),
    own("networks"),
    own("servers"),
    made("load_balancers"),
    made("certificates"),
  ]);
  const isKnown = ({ labels = {} }: Listed) => uids.includes(labels[SERVICE_UID_LABEL] ?? "");
  const inside = new Set(networks.map(({ id }) => id));
  const isInside = ({ private_net = [] }: Listed) => private_net.some(({ network }) => inside.has(network));
  const ours = balancers.filter((balancer) => isKnown(balancer) || isInside(balancer));
  const used = new Set(ours.flatMap(certificatesOf));
  return {
    ssh_keys,
    firewalls,
    placement_groups,
    networks,
    certificates: certificates.filter((certificate) => isKnown(certificate) || used.has(certificate.id)),
    load_balancers: ours,
    servers,
  };
}

function certificatesOf({ services = [] }: Listed): readonly number[] {
  return services.flatMap(({ http }) => http?.certificates ?? []);
}

/** The same without what a controller inside made: that is the controller's business for as long as there is one. */
export function ownParts(listing: Listing): Listing {
  return { ...listing, load_balancers: [], certificates: [] };
}

/** How many resources there are. */
export function sizeOf(listing: Listing): number {
  return Object.values(listing).reduce((sum, list: readonly Listed[]) => sum + list.length, 0);
}
