/** The cloud as last listed. A list is read again when a caller needs a newer one; concurrent callers share the read. */
import { Aged } from "../work/aged.ts";
import type { Catalogue, Certificate, LoadBalancer, Network, Server } from "./api.ts";
import type { CloudReader } from "./reader.ts";

/** The cloud's part of a snapshot. */
export interface CloudState {
  readonly servers: readonly Server[];
  readonly loadBalancers: readonly LoadBalancer[];
  readonly certificates: readonly Certificate[];
  /** Absent when the cluster uses no network. */
  readonly network?: Network;
  /** Absent while it cannot be read; checks against it are then skipped. */
  readonly catalogue?: Catalogue;
}

/** The provider's offer changes a few times a year. */
const CATALOGUE_MAX_AGE_MS = 3_600_000;

/** Maximum age of each list in milliseconds; 0 always reads. */
export interface Ages {
  readonly servers: number;
  readonly loadBalancers: number;
  readonly certificates: number;
  readonly network: number;
}

/** Lists of the Hetzner project, each with an age. */
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

  /** Reads one server directly, not from the list; undefined when it does not exist. */
  server(id: number): Promise<Server | undefined> {
    return this.#reader.server(id);
  }

  async state(ages: Ages): Promise<CloudState> {
    const [servers, loadBalancers, certificates, network, catalogue] = await Promise.all([
      this.#servers.get(ages.servers),
      this.#loadBalancers.get(ages.loadBalancers),
      this.#certificates.get(ages.certificates),
      this.#network.get(ages.network),
      this.#catalogue.get(CATALOGUE_MAX_AGE_MS).catch(() => undefined), // the API makes the same checks
    ]);
    return { servers, loadBalancers, certificates, ...(network && { network }), ...(catalogue && { catalogue }) };
  }
}
