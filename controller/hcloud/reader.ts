/** Typed reads of the Hetzner API; lists are always complete. */
import { CloudError } from "../diagnostics/errors.ts";
import type { Catalogue, Certificate, LoadBalancer, Network, Server } from "./api.ts";
import type { Gateway } from "./gateway.ts";
import type { Pricing } from "./prices.ts";

interface Page {
  readonly meta?: {
    readonly pagination?: { readonly last_page: number | null; readonly total_entries: number | null };
  };
}

/** Attempts to read a list that keeps changing, before it is used as it is. */
const LIST_TRIES = 3;

/** Reads the Hetzner project through the gateway. */
export class CloudReader {
  readonly #gateway: Pick<Gateway, "read">;

  constructor(gateway: Pick<Gateway, "read">) {
    this.#gateway = gateway;
  }

  servers(): Promise<readonly Server[]> {
    return this.#all("servers");
  }

  /** Reads one server directly; undefined when it does not exist. */
  async server(id: number): Promise<Server | undefined> {
    return (await this.#one<{ server: Server }>(`/servers/${id}`))?.server;
  }

  /** Reads the labels of one resource directly; undefined when it does not exist. */
  async labels(kind: "load_balancer" | "certificate", id: number): Promise<LoadBalancer["labels"] | undefined> {
    return (await this.#one<Record<string, Pick<LoadBalancer, "labels">>>(`/${kind}s/${id}`))?.[kind]?.labels;
  }

  async #one<T>(path: string): Promise<T | undefined> {
    try {
      return await this.#gateway.read<T>(path, "urgent");
    } catch (error) {
      if (error instanceof CloudError && error.status === 404 && error.apiCode === "not_found") return undefined;
      throw error;
    }
  }

  loadBalancers(): Promise<readonly LoadBalancer[]> {
    return this.#all("load_balancers");
  }

  certificates(): Promise<readonly Certificate[]> {
    return this.#all("certificates");
  }

  /** Load balancer types and locations that the provider offers. */
  async catalogue(): Promise<Catalogue> {
    const [types, locations] = await Promise.all([
      this.#all<Catalogue["types"][number]>("load_balancer_types"),
      this.#all<Catalogue["locations"][number]>("locations"),
    ]);
    return { types, locations };
  }

  async network(id: number): Promise<Network> {
    return (await this.#gateway.read<{ network: Network }>(`/networks/${id}`)).network;
  }

  /** Finds a network by id or name. A number is tried as an id first, as in the official controller. */
  async findNetwork(idOrName: string): Promise<Network | undefined> {
    if (/^\d+$/.test(idOrName)) {
      try {
        return await this.network(Number(idOrName));
      } catch (error) {
        if (!(error instanceof CloudError && error.apiCode === "not_found")) throw error;
      }
    }
    const path = `/networks?name=${encodeURIComponent(idOrName)}`;
    return (await this.#gateway.read<{ networks: readonly Network[] }>(path)).networks[0];
  }

  async pricing(): Promise<Pricing> {
    return (await this.#gateway.read<{ pricing: Pricing }>("/pricing")).pricing;
  }

  /** Checks that the API responds and accepts the token. */
  async probe(): Promise<void> {
    await this.#gateway.read("/locations");
  }

  /** Reads a whole list. If its length differs from the announced one, it changed between two pages and is read again. */
  async #all<T>(collection: string): Promise<readonly T[]> {
    for (let attempt = 1; ; attempt++) {
      const pages = await this.#pages<T>(collection);
      const found = pages.flatMap((page) => page[collection] ?? []);
      const isWhole = pages.every(({ meta }) => (meta?.pagination?.total_entries ?? found.length) === found.length);
      if (isWhole || attempt === LIST_TRIES) return found;
    }
  }

  async #pages<T>(collection: string): Promise<readonly (Page & Record<string, readonly T[]>)[]> {
    const page = (number: number) =>
      this.#gateway.read<Page & Record<string, readonly T[]>>(`/${collection}?page=${number}&per_page=50`);
    const first = await page(1);
    const last = first.meta?.pagination?.last_page ?? 1;
    return [first, ...(await Promise.all(Array.from({ length: last - 1 }, (_, index) => page(index + 2))))];
  }
}
