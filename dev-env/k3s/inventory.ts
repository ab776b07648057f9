/** What the API lists of an environment: its own resources by their label, and those that its controller created. */
import { CloudError } from "../../controller/diagnostics/errors.ts";
import { programVersion } from "../../controller/diagnostics/version.ts";
import { Upstream } from "../../controller/hcloud/sender.ts";
import type { Existing } from "../../stacks/engine/stored-state.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import type { Pricing } from "./cost.ts";
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

/** Where the API is, and the token for it. */
export interface CloudAccess {
  readonly endpoint: string;
  readonly token: string;
}

interface Page {
  readonly meta: { readonly pagination: { readonly next_page: number | null } };
}

/** Reads of the Hetzner API. All changes are made by stacks. */
export class CloudApi implements Disposable {
  readonly #upstream: Upstream;

  constructor({ endpoint, token }: CloudAccess) {
    const userAgent = `lotse-dev-env/${programVersion()}`;
    this.#upstream = new Upstream({ endpoint, token: () => token, userAgent, timeoutMs: 30_000 });
  }

  readonly list: ListReader = async (collection, selector) => {
    const found: Listed[] = [];
    for (let page: number | null = 1; page !== null; ) {
      const query = `label_selector=${encodeURIComponent(selector)}&page=${page}&per_page=50`;
      const answer: Page & Record<string, readonly Listed[]> = await this.#read(`/${collection}?${query}`);
      found.push(...(answer[collection] ?? []));
      page = answer.meta.pagination.next_page;
    }
    return found;
  };

  async pricing(): Promise<Pricing> {
    return (await this.#read<{ pricing: Pricing }>("/pricing")).pricing;
  }

  [Symbol.dispose](): void {
    this.#upstream.close();
  }

  async #read<T>(path: string): Promise<T> {
    const { status, body } = await this.#upstream.send({ method: "GET", path }, "dev-env");
    if (status < 300) return JSON.parse(body) as T;
    const isRefused = status === 401 || status === 403;
    throw new CloudError(
      `GET ${path}`,
      status,
      String(status),
      isRefused ? "the API refused HCLOUD_TOKEN" : body.slice(0, 200),
    );
  }
}
