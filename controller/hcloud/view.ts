/** The cloud as last listed: each list is read when somebody needs it younger than it is, and once for all who ask. */
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
  readonly #servers: Aged<readonly Server[]>;
  readonly #loadBalancers: Aged<readonly LoadBalancer[]>;
  readonly #certificates: Aged<readonly Certificate[]>;
  readonly #network: Aged<Network | undefined>;
  readonly #catalogue: Aged<Catalogue>;

  constructor(reader: CloudReader, networkId: number | undefined) {
    this.#reader = reader;
    this.#servers = new Aged(() => reader.servers());
    this.#loadBalancers = new Aged(() => reader.loadBalancers());
    this.#certificates = new Aged(() => reader.certificates());
    this.#network = new Aged(async () => (networkId === undefined ? undefined : reader.network(networkId)));
    this.#catalogue = new Aged(() => reader.catalogue());
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

/** A value with an age. A failed read leaves nothing behind: the next one asks again. */
class Aged<T> {
  readonly #read: () => Promise<T>;
  #value: Promise<T> | undefined;
  #startedAt = 0;
  #isReading = false;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** A value whose reading began at most `maxAgeMs` ago. With 0 it begins now: what happened before is in it. */
  get(maxAgeMs: number): Promise<T> {
    if (this.#value && performance.now() - this.#startedAt < maxAgeMs) return this.#value;
    // A read that has begun may have missed what the caller knows of; one that waits for it to end has not.
    const before = this.#isReading ? this.#value : undefined;
    this.#startedAt = performance.now();
    this.#isReading = true;
    const value = (async () => {
      await before?.catch(() => {}); // whoever asked for it hears of it
      return this.#read();
    })();
    this.#value = value;
    const done = (isFine: boolean) => {
      if (this.#value !== value) return;
      this.#isReading = false;
      if (!isFine) this.#value = undefined;
    };
    value.then(
      () => done(true),
      () => done(false),
    );
    return value;
  }
}
