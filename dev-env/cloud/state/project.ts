/** A project: all resources, in tables that support transactions. */
import { type Labels, labelKey, requiredLabelKey, selectorKey, selectorOf } from "../api/labels.ts";
import type { Behaviour } from "../options.ts";
import { type ActionRecord, Actions } from "./actions.ts";
import type { AddressPool, AddressPoolState } from "./addresses.ts";
import { type Clock, renderTime } from "./clock.ts";
import { HealthBook } from "./health.ts";
import type {
  CertificateRecord,
  FirewallRecord,
  FirewallScope,
  LoadBalancerRecord,
  NetworkRecord,
  PlacementGroupRecord,
  PrimaryIpRecord,
  Resource,
  RrsetRecord,
  ServerRecord,
  SshKeyRecord,
  TargetRecord,
  ZoneRecord,
} from "./records.ts";
import { type Row, Table } from "./table.ts";

/** The complete content of a project, as plain data. */
export interface ProjectSnapshot {
  readonly nextId: number;
  readonly addresses: AddressPoolState;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
}

/** The parts of a project. */
export interface ProjectOptions {
  readonly clock: Clock;
  readonly behaviour: Behaviour;
  readonly firstId: number;
  readonly addresses: AddressPool;
}

/** All resources and actions of one project, with ids, addresses and the clock. */
export class Project {
  readonly clock: Clock;
  readonly behaviour: Behaviour;
  readonly addresses: AddressPool;
  readonly actions: Actions;
  readonly health = new HealthBook();
  readonly servers = new Table<ServerRecord>(serverKeys);
  readonly networks = new Table<NetworkRecord>(nameKey);
  readonly loadBalancers = new Table<LoadBalancerRecord>(loadBalancerKeys);
  readonly certificates = new Table<CertificateRecord>(nameKey);
  readonly firewalls = new Table<FirewallRecord>((wall) => [...nameKey(wall), ...wall.applied_to.flatMap(targetKeys)]);
  readonly placementGroups = new Table<PlacementGroupRecord>(nameKey);
  readonly sshKeys = new Table<SshKeyRecord>((key) => [...nameKey(key), `fingerprint/${key.fingerprint}`]);
  readonly primaryIps = new Table<PrimaryIpRecord>(primaryIpKeys);
  readonly zones = new Table<ZoneRecord>(nameKey);
  readonly rrsets = new Table<RrsetRecord>((set) => [`zone/${set.zone}`, rrsetKey(set)]);
  readonly #selections = new Map<string, { readonly revision: number; readonly servers: readonly ServerRecord[] }>();
  #nextId: number;

  constructor({ clock, behaviour, firstId, addresses }: ProjectOptions) {
    this.clock = clock;
    this.behaviour = behaviour;
    this.addresses = addresses;
    this.#nextId = firstId;
    this.actions = new Actions(clock, behaviour.actionMs, () => this.nextId());
  }

  /** Increases with every change of any row. */
  get revision(): number {
    return this.#tables().reduce((sum, table) => sum + table.revision, 0);
  }

  /** Ids are unique across kinds, so that an id of the wrong kind never matches by accident. */
  nextId(): number {
    this.#nextId += 1;
    return this.#nextId - 1;
  }

  /** The fields that all new resources have. */
  newResource(name: string, labels: Labels = {}): Resource {
    return { id: this.nextId(), name, labels, created: renderTime(this.clock.now()) };
  }

  /** The servers that match a selector. Cached until a server changes. */
  serversMatching(selector: string): readonly ServerRecord[] {
    const { revision } = this.servers;
    const known = this.#selections.get(selector);
    if (known?.revision === revision) return known.servers;
    const matches = selectorOf(selector);
    const key = requiredLabelKey(selector);
    const candidates = key === undefined ? [...this.servers.values()] : this.servers.rowsWith(key);
    const servers = candidates.filter((server) => matches(server.labels));
    if (this.#selections.size > 1000) this.#selections.clear();
    this.#selections.set(selector, { revision, servers });
    return servers;
  }

  /** Runs a change, and rolls it back if it throws. */
  transaction<T>(change: () => T): T {
    const actionsBefore = this.actions.table.revision;
    for (const table of this.#tables()) table.begin();
    try {
      const result = change();
      for (const table of this.#tables()) table.commit();
      return result;
    } catch (error) {
      for (const table of this.#tables()) table.rollback();
      if (this.actions.table.revision !== actionsBefore) this.actions.rebuildRunning();
      throw error;
    }
  }

  /** Inside a transaction: reverts all changes except actions. */
  revertKeepingActions(): void {
    for (const [name, table] of Object.entries(this.#named())) {
      if (name !== "actions") table.rollback();
    }
  }

  snapshot(): ProjectSnapshot {
    const tables = Object.entries(this.#named()).map(([name, table]) => [name, [...table.values()]] as const);
    return { nextId: this.#nextId, addresses: this.addresses.state(), tables: Object.fromEntries(tables) };
  }

  restore(snapshot: ProjectSnapshot): void {
    this.#nextId = snapshot.nextId;
    this.addresses.restore(snapshot.addresses);
    for (const [name, table] of Object.entries(this.#named())) {
      // The snapshot has the rows of this table under its name.
      table.replaceAll((snapshot.tables[name] ?? []) as never[]);
    }
    this.actions.rebuildRunning();
  }

  #named() {
    const { servers, networks, loadBalancers, certificates, firewalls, placementGroups, sshKeys, primaryIps } = this;
    const { zones, rrsets } = this;
    const actions: Table<ActionRecord> = this.actions.table;
    const others = { certificates, firewalls, placementGroups, sshKeys, primaryIps, zones, rrsets };
    return { servers, networks, loadBalancers, ...others, actions };
  }

  #tables() {
    return Object.values(this.#named());
  }
}

function nameKey(row: { readonly name: string }): readonly string[] {
  return [`name/${row.name}`];
}

/** The secondary key of a record set, which is unique. */
export function rrsetKey({ zone, name, type }: Pick<RrsetRecord, "zone" | "name"> & { readonly type: string }): string {
  return `rrset/${zone}/${name}/${type}`;
}

function serverKeys(server: ServerRecord): readonly string[] {
  return [
    `name/${server.name}`,
    ...Object.entries(server.labels).map(([key, value]) => labelKey(key, value)),
    ...(server.placement_group === null ? [] : [`placement_group/${server.placement_group}`]),
    ...server.private_net.flatMap(({ network, ip, alias_ips }) => [
      `network/${network}`,
      ...[ip, ...alias_ips].map((address) => `ip/${network}/${address}`),
    ]),
  ];
}

function loadBalancerKeys(balancer: LoadBalancerRecord): readonly string[] {
  return [
    `name/${balancer.name}`,
    `public/${balancer.public_net.ipv4.ip}`,
    `public/${balancer.public_net.ipv6.ip}`,
    ...balancer.private_net.flatMap(({ network, ip }) => [`network/${network}`, `ip/${network}/${ip}`]),
    ...balancer.targets.flatMap(targetKeys),
    ...balancer.services.flatMap(({ http }) => (http?.certificates ?? []).map((id) => `certificate/${id}`)),
  ];
}

/** Keys by which the load balancers and firewalls of a server are found. */
function targetKeys(target: TargetRecord | FirewallScope): readonly string[] {
  switch (target.type) {
    case "server":
      return [`server/${target.server.id}`];
    case "label_selector":
      return [selectorKey(target.label_selector.selector)];
    case "ip":
      return [];
  }
}

function primaryIpKeys(ip: PrimaryIpRecord): readonly string[] {
  return [`name/${ip.name}`, `ip/${ip.ip}`, ...(ip.assignee ? [`${ip.assignee.type}/${ip.assignee.id}`] : [])];
}
