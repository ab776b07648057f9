/**
 * Compares a stored state with what exists.
 *
 * The engine notes every creation before it starts it. A killed run thus leaves a note, and perhaps a resource that the
 * state does not know: creating it again would fail, because its name is in use. A lost state knows nothing at all.
 */
import { PROVIDER_TYPE, providerRecord } from "../state/checkpoint.ts";
import { VERSIONS } from "../state/versions.ts";
import type { ResourceRecord } from "../units/records.ts";

/** A stored state, as `pulumi stack export` prints it. Fields that are not listed here are kept. */
export interface Deployment {
  readonly resources?: readonly StoredRecord[];
  readonly pending_operations?: readonly { readonly type: string; readonly resource: StoredRecord }[];
}

interface StoredRecord extends ResourceRecord {
  readonly delete?: boolean;
  /** Deleted already, and waiting for its successor. */
  readonly pendingReplacement?: boolean;
  /** Why its creation stopped half-way. */
  readonly initErrors?: readonly string[];
  /** Replaced in the next run. */
  readonly taint?: boolean;
}

/** Finds the id of a resource by its type and its name in the cloud; undefined if it does not exist. */
export type FindId = (type: string, name: string) => Promise<string | undefined>;

/**
 * The creation of a server has several steps. One that stopped between them has booted without its network, and must be
 * replaced: its first boot is not repeated when the rest is done later.
 */
const SERVER = "hcloud:index/server:Server";

/**
 * Resolves what a killed or failed run left; undefined if there is nothing. Resources that were created enter the state,
 * and unfinished servers are replaced in the next run. Updates and deletions need no attention: the next run repeats them.
 */
export async function settlePending(deployment: Deployment, findId: FindId): Promise<Deployment | undefined> {
  const { pending_operations: notes = [], resources = [], ...rest } = deployment;
  const isUnfinished = ({ type, initErrors = [] }: StoredRecord) => type === SERVER && initErrors.length > 0;
  if (notes.length === 0 && !resources.some(isUnfinished)) return undefined;
  const found: StoredRecord[] = [];
  for (const { type, resource } of notes) {
    if (type !== "creating" || !resource.custom) continue;
    const id = await idOf(resource, findId);
    if (id === undefined) continue;
    const taint = resource.type === SERVER && { taint: true };
    found.push({ ...resource, id, outputs: { ...resource.inputs, id }, ...taint });
  }
  const urns = new Set(found.map(({ urn }) => urn));
  const kept = resources
    .filter(({ urn, pendingReplacement }) => !(pendingReplacement && urns.has(urn)))
    .map((record) => (isUnfinished(record) ? { ...record, taint: true } : record));
  return { ...rest, resources: [...kept, ...found] };
}

/** The id that the provider would have given. Parts of other resources have derived ids; a refresh drops absent ones. */
async function idOf({ type, inputs = {} }: StoredRecord, findId: FindId): Promise<string | undefined> {
  const value = (name: string) => (inputs as Readonly<Record<string, unknown>>)[name];
  const balancer = value("loadBalancerId");
  switch (type) {
    case "hcloud:index/networkSubnet:NetworkSubnet":
      return `${value("networkId")}-${value("ipRange")}`;
    case "hcloud:index/networkRoute:NetworkRoute":
      return `${value("networkId")}-${value("destination")}`;
    case "hcloud:index/loadBalancerNetwork:LoadBalancerNetwork":
      return `${balancer}-${value("networkId") ?? String(value("subnetId")).split("-")[0]}`;
    case "hcloud:index/loadBalancerService:LoadBalancerService":
      return `${balancer}__${value("listenPort")}`;
    case "hcloud:index/loadBalancerTarget:LoadBalancerTarget":
      return value("serverId") === undefined ? undefined : `lb-srv-tgt-${value("serverId")}-${balancer}`;
    default:
      return typeof value("name") === "string" ? findId(type, String(value("name"))) : undefined;
  }
}

/** A resource that exists: its Pulumi type, id and name in the cloud. */
export interface Existing {
  readonly type: string;
  readonly id: string;
  readonly name: string;
}

/** What exists and is not in the state, without duplicates. */
export function unknownTo<T extends Existing>({ resources = [] }: Deployment, existing: readonly T[]): readonly T[] {
  const known = new Set(resources.map(({ type, id }) => `${type} ${id}`));
  const unknown = new Map(existing.map((it) => [`${it.type} ${it.id}`, it]));
  return [...unknown].filter(([key]) => !known.has(key)).map(([, it]) => it);
}

/**
 * Adds resources to a state, in order that a run deletes them: only type and id are right. `existing` is in the order of
 * dependencies; later ones are deleted first.
 */
export function withFound(deployment: Deployment, existing: readonly Existing[], urnPrefix: string): Deployment {
  const { resources = [] } = deployment;
  // A lost state has none. This one is for the plugin that programs use.
  const provider =
    resources.find(({ type }) => type === PROVIDER_TYPE) ??
    providerRecord(urnPrefix, "6c6f7473-6500-4000-8000-000000000002", { version: VERSIONS.hcloud });
  const found: ResourceRecord[] = [];
  for (const { type, id, name } of unknownTo(deployment, existing)) {
    found.push({
      urn: `${urnPrefix}::${type}::found-${id}`,
      type,
      custom: true,
      id,
      provider: `${provider.urn}::${provider.id}`,
      dependencies: found.map(({ urn }) => urn),
      inputs: { name },
      outputs: { id, name },
    });
  }
  const base = found.length === 0 || resources.includes(provider) ? resources : [provider, ...resources];
  return { ...deployment, resources: [...base, ...found] };
}
