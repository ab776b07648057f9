/** Typed reads of the cloud, whole lists at a time. */
import { CloudError } from "../errors.ts";
import type { LoadBalancer, Network, Server } from "./api.ts";
import type { Gateway } from "./gateway.ts";

interface Page {
  readonly meta?: { readonly pagination?: { readonly next_page: number | null; readonly last_page: number | null } };
}

export class CloudReader {
  readonly #gateway: Pick<Gateway, "read">;

  constructor(gateway: Pick<Gateway, "read">) {
    this.#gateway = gateway;
  }

  servers(): Promise<readonly Server[]> {
    return this.#all("servers");
  }

  loadBalancers(): Promise<readonly LoadBalancer[]> {
    return this.#all("load_balancers");
  }

  async network(id: number): Promise<Network> {
    return (await this.#gateway.read<{ network: Network }>(`/networks/${id}`)).network;
  }

  /** A network by id or name; a number is an id first, as users of the official controller expect. */
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

  /** Proves that the API answers and takes the token. */
  async probe(): Promise<void> {
    await this.#gateway.read("/locations");
  }

  async #all<T>(collection: string): Promise<readonly T[]> {
    const page = (number: number) =>
      this.#gateway.read<Page & Record<string, readonly T[]>>(`/${collection}?page=${number}&per_page=50`);
    const first = await page(1);
    const last = first.meta?.pagination?.last_page ?? 1;
    const rest = await Promise.all(Array.from({ length: last - 1 }, (_, index) => page(index + 2)));
    return [first, ...rest].flatMap((answer) => answer[collection] ?? []);
  }
}
