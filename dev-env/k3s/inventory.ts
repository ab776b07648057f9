/** What the API lists of an environment: its own resources by their label, and those that its controller created. */
import type { Existing } from "../../stacks/engine/stored-state.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { type Access, ProjectApi } from "../project/api.ts";
import { LABEL } from "./settings.ts";

/** Collections of the API with their Pulumi types, each after those that it may depend on. */
export const TYPES = {
  ssh_keys: "hcloud:index/sshKey:SshKey",
  firewalls: "hcloud:index/firewall:Firewall",
  placement_groups: "hcloud:index/placementGroup:PlacementGroup",
  networks: "hcloud:index/network:Network",
  certificates: "hcloud:index/managedCertificate:ManagedCertificate",
  load_balancers: "hcloud:index/loadBalancer:LoadBalancer",
  servers: "hcloud:index/server:Server",
} as const;

type Collection = keyof typeof TYPES;

/** One resource of the API, with the fields used here. */
export interface Listed {
  readonly id: number;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly private_net?: readonly { readonly network: number }[];
  readonly targets?: readonly { readonly server?: { readonly id: number } }[];
  readonly status?: string;
  readonly public_net?: { readonly ipv4?: { readonly ip: string } | null };
}

/** A resource with its Pulumi type. */
export interface Resource extends Existing {
  readonly listed: Listed;
}

/** Reads a whole collection, limited by a label selector. */
export type ListReader = (collection: Collection, selector: string) => Promise<readonly Listed[]>;

/** Everything that carries the environment's label, in the order of dependencies. */
export async function listOwn(read: ListReader, environment: string): Promise<readonly Resource[]> {
  const collections = Object.keys(TYPES) as readonly Collection[];
  const lists = collections.map(async (it) => toResources(it, await read(it, `${LABEL}=${environment}`)));
  return (await Promise.all(lists)).flat();
}

/**
 * What the controller of an environment created. It carries the controller's label, not the environment's: load balancers
 * in the environment's network or with its servers as targets, and certificates of the same Services.
 */
export async function listMade(read: ListReader, own: readonly Resource[]): Promise<readonly Resource[]> {
  const [balancers, certificates] = await Promise.all([
    read("load_balancers", SERVICE_UID_LABEL),
    read("certificates", SERVICE_UID_LABEL),
  ]);
  const ids = new Set(own.map(({ id }) => Number(id)));
  const made = balancers.filter(
    ({ private_net = [], targets = [] }) =>
      private_net.some(({ network }) => ids.has(network)) || targets.some(({ server }) => server && ids.has(server.id)),
  );
  const uids = new Set(made.map(({ labels }) => labels?.[SERVICE_UID_LABEL]));
  const used = certificates.filter(({ labels }) => uids.has(labels?.[SERVICE_UID_LABEL]));
  return [...toResources("certificates", used), ...toResources("load_balancers", made)];
}

function toResources(collection: Collection, list: readonly Listed[]): readonly Resource[] {
  return list.map((listed) => ({ type: TYPES[collection], id: String(listed.id), name: listed.name, listed }));
}

/** The API of the project that environments are built in. */
export const openProject = (access: Access) => new ProjectApi(access, "dev-env");
