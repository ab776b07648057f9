/** The cloud as last listed: each list is read when somebody needs it younger than it is, and once for all who ask. */
import { Aged } from "../work/aged.ts";
import type { Catalogue, Certificate, LoadBalancer, Network, Server } from "./api.ts";
import type { CloudReader } from "./reader.ts";

/** Everything observed of the cloud at one moment. */
export interface CloudState {
  readonly servers: readonly Server[];
  readonly loadBalancers: readonly LoadBalancer[];
  readonly certificates: readonly Certificate[];
  /** Absent when the cluster uses no network. */
  readonly network?: Network;
  /** Absent while it cannot be read: then nothing is checked against it. */
  readonly catalogue?: Catalogue;
}

/** What the provider offers changes a few times a year. */
const CATALOGUE_MAX_AGE_MS = 3_600_000;

/** How old each list may be, in milliseconds; 0 asks the API now. */
export interface Ages {
  readonly servers: number;
  readonly loadBalancers: number;
  readonly certificates: number;
  readonly network: number;
}

export class CloudView {
  readonly #reader: CloudReader;
  readonly #networkId: number | undefined;
  readonly #servers = new Aged(() => this.#reader.servers());
  readonly #loadBalancers = new Aged(() => this.#reader.loadBalancers());
  readonly #certificates = new Aged(() => this.#reader.certificates());
  readonly #network = new Aged(async () => {
    return this.#networkId === undefined ? undefined : this.#reader.network(this.#networkId);
  });
  readonly #catalogue = new Aged(() => this.#reader.catalogue());

  constructor(reader: CloudReader, networkId: number | undefined) {
    this.#reader = reader;
    this.#networkId = networkId;
  }

  servers(maxAgeMs: number): Promise<readonly Server[]> {
    return this.#servers.get(maxAgeMs);
  }

  /** One server by a read of its own, whatever the list says; nothing when the API says that there is none. */
  server(id: number): Promise<Server | undefined> {
    return this.#reader.server(id);
  }

  async state(ages: Ages): Promise<CloudState> {
    const [servers, loadBalancers, certificates, network, catalogue] = await Promise.all([
      this.#servers.get(ages.servers),
      this.#loadBalancers.get(ages.loadBalancers),
      this.#certificates.get(ages.certificates),
      this.#network.get(ages.network),
      this.#catalogue.get(CATALOGUE_MAX_AGE_MS).catch(() => undefined), // the API checks what we cannot
    ]);
    return { servers, loadBalancers, certificates, ...(network && { network }), ...(catalogue && { catalogue }) };
  }
}
