/** Typed reads of the Hetzner API, and the lists of the project as last read, each with an age. */
import { defined } from "../../stacks/units/defined.ts";
import { CcmError, CloudError } from "../diagnostics/errors.ts";
import { Aged } from "../work/aged.ts";
import { TIMINGS } from "../work/timings.ts";
import type { Catalogue, Certificate, LoadBalancer, Network, Server } from "./api.ts";
import type { Gateway } from "./gateway.ts";
import type { Pricing } from "./prices.ts";
import { ServerShapes } from "./server-shapes.ts";

interface Page {
  readonly meta?: {
    readonly pagination?: { readonly last_page: number | null; readonly total_entries: number | null };
  };
}

/** Entries per page, the most that the API allows. */
const PAGE = 50;

/** The number of requests that a list of this many entries takes. */
export function pagesOf(entries: number): number {
  return Math.max(1, Math.ceil(entries / PAGE));
}

/** Code of the CloudError for a response that cannot be understood. */
export const INVALID = "invalid_response";

/** Attempts to read a list that keeps changing. */
const LIST_TRIES = 3;

/** Lists that change between two pages. In the order of ids, nothing moves from an unread page to one that was read. */
const ORDERED: ReadonlySet<string> = new Set(["servers", "load_balancers", "certificates"]);

/** A list contradicts itself: acting on it could remove what it lacks. */
class IncompleteList extends CcmError {
  readonly code = "incomplete-list";
  readonly retry = "soon";
}

function invalid(path: string, kind: string): CloudError {
  return new CloudError(`GET ${path}`, 200, INVALID, `the response has no well-formed ${kind}`);
}

/** Reads the Hetzner project through the gateway. */
export class CloudReader {
  readonly #gateway: Pick<Gateway, "read">;
  readonly #shapes = new ServerShapes();

  constructor(gateway: Pick<Gateway, "read">) {
    this.#gateway = gateway;
  }

  async servers(): Promise<readonly Server[]> {
    const listed = await this.#all<Server>("servers");
    return this.#shapes.readAll(listed);
  }

  /** Reads one server directly; undefined when it does not exist. Throws when the response cannot be understood. */
  server(id: number): Promise<Server | undefined> {
    return this.#one("server", id, (server: Server) => this.#shapes.read(server));
  }

  /** Reads the labels of one resource directly; undefined when it does not exist. */
  labels(kind: "load_balancer" | "certificate", id: number): Promise<LoadBalancer["labels"] | undefined> {
    return this.#one(kind, id, ({ labels }: Pick<LoadBalancer, "labels">) => labels);
  }

  /** Undefined when it does not exist. A response that cannot be understood does not prove that. */
  async #one<T, R>(kind: string, id: number, parse: (resource: T) => R | undefined): Promise<R | undefined> {
    const path = `/${kind}s/${id}`;
    try {
      const resource = (await this.#gateway.read<Readonly<Record<string, T>> | null>(path, "urgent"))?.[kind];
      const parsed = resource && parse(resource);
      if (parsed) return parsed;
    } catch (error) {
      if (error instanceof CloudError && error.status === 404 && error.apiCode === "not_found") return undefined;
      throw error;
    }
    throw invalid(path, kind);
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
    const path = `/networks/${id}`;
    const { network } = await this.#gateway.read<{ readonly network?: Network }>(path);
    if (network && [network.subnets, network.routes].every(Array.isArray)) return network;
    throw invalid(path, "network");
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

  /** Reads a whole list. One that contradicts itself changed between two pages and is read again; in the end it throws. */
  async #all<T>(collection: string): Promise<readonly T[]> {
    for (let attempt = 1; ; attempt++) {
      const pages = await this.#pages<T>(collection);
      const found = pages.flatMap((page) => page[collection] ?? []);
      const problem = contradiction(collection, pages, found);
      if (problem === undefined) return found;
      if (attempt === LIST_TRIES) throw new IncompleteList(`GET /${collection}: ${problem}: nothing is changed`);
    }
  }

  async #pages<T>(collection: string): Promise<readonly (Page & Record<string, readonly T[]>)[]> {
    const order = ORDERED.has(collection) ? "&sort=id:asc" : "";
    const page = (number: number) =>
      this.#gateway.read<Page & Record<string, readonly T[]>>(`/${collection}?page=${number}&per_page=${PAGE}${order}`);
    const first = await page(1);
    const last = first.meta?.pagination?.last_page ?? 1;
    return [first, ...(await Promise.all(Array.from({ length: last - 1 }, (_, index) => page(index + 2))))];
  }
}

/** Why a list cannot be complete; undefined when it can. */
function contradiction(collection: string, pages: readonly Page[], found: readonly unknown[]): string | undefined {
  if (pages.some((page) => !Array.isArray((page as Record<string, unknown>)[collection])))
    return `a response has no ${collection}`;
  const total = pages
    .map(({ meta }) => meta?.pagination?.total_entries ?? found.length)
    .find((entries) => entries !== found.length);
  if (total !== undefined) return `the list has ${found.length} entries, but announces ${total}`;
  const ids = new Set(found.map((item) => (item as { readonly id?: number } | null)?.id));
  if (ORDERED.has(collection) && ids.size < found.length) return "the list has entries with the same id";
  return undefined;
}

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
  /** Collections whose lists had a single page when they were last read. */
  readonly #singlePaged = new Set<string>();
  readonly #servers = new Aged(() => this.#reader.servers());
  readonly #loadBalancers = new Aged(() => this.#countPages("load_balancers", this.#reader.loadBalancers()));
  readonly #certificates = new Aged(() => this.#countPages("certificates", this.#reader.certificates()));
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

  /** Reads one server directly, not from the list, like the reader. */
  server(id: number): Promise<Server | undefined> {
    return this.#reader.server(id);
  }

  /** Starts to read what every turn needs, unless it was just read. A turn that starts soon finds it here. */
  prefetch(): void {
    this.#loadBalancers.get(TIMINGS.recent).catch(() => {}); // the turn reads again, and reports the failure
  }

  /** The list of a collection, if that takes a single request, as a single resource does; otherwise undefined. */
  list(collection: string, maxAgeMs: number): Promise<unknown> | undefined {
    if (collection === "networks") return this.#network.get(maxAgeMs);
    if (!this.#singlePaged.has(collection)) return undefined;
    return (collection === "certificates" ? this.#certificates : this.#loadBalancers).get(maxAgeMs);
  }

  /** Notes whether a list has a single page. */
  async #countPages<T>(collection: string, reading: Promise<readonly T[]>): Promise<readonly T[]> {
    const list = await reading;
    if (list.length < PAGE) this.#singlePaged.add(collection);
    else this.#singlePaged.delete(collection);
    return list;
  }

  async state(ages: Ages): Promise<CloudState> {
    const [servers, loadBalancers, certificates, network, catalogue] = await Promise.all([
      this.#servers.get(ages.servers),
      this.#loadBalancers.get(ages.loadBalancers),
      this.#certificates.get(ages.certificates),
      this.#network.get(ages.network),
      this.#catalogue.get(CATALOGUE_MAX_AGE_MS).catch(() => undefined), // the API makes the same checks
    ]);
    return { servers, loadBalancers, certificates, ...defined({ network, catalogue }) };
  }
}
