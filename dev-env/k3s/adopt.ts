/**
 * The stack's state, made to say what the cloud says. A killed run leaves machines that the state does not know, a hand on
 * the console takes some that it does; both would fail the next run. What carries our label and is unknown becomes known,
 * so that it is removed like everything else, by the stack; what is gone is forgotten.
 */
import type { ResourceRecord } from "../../stacks/units/records.ts";
import type { Listed, Listing } from "./listing.ts";

/** Which stack the state belongs to. */
export interface StackName {
  readonly project: string;
  readonly stack: string;
  readonly providerVersion: string;
}

/** Collection of the API → Pulumi type, in an order in which each may depend on those before it. */
export const TYPES = {
  ssh_keys: "hcloud:index/sshKey:SshKey",
  firewalls: "hcloud:index/firewall:Firewall",
  placement_groups: "hcloud:index/placementGroup:PlacementGroup",
  networks: "hcloud:index/network:Network",
  certificates: "hcloud:index/managedCertificate:ManagedCertificate",
  load_balancers: "hcloud:index/loadBalancer:LoadBalancer",
  servers: "hcloud:index/server:Server",
} as const satisfies Record<keyof Listing, string>;

const SUBNET = "hcloud:index/networkSubnet:NetworkSubnet";
const PROVIDER = "pulumi:providers:hcloud";
const STACK = "pulumi:pulumi:Stack";

/** The state as the cloud has it, and the URNs of what was unknown. */
export interface Adoption {
  readonly resources: readonly ResourceRecord[];
  readonly strangers: readonly string[];
}

/** Compares a state with the cloud. `listing` has everything of this environment, whoever made it. */
export function adopt(state: readonly ResourceRecord[], listing: Listing, name: StackName): Adoption {
  const present = new Set(collections().flatMap((kind) => listing[kind].map(({ id }) => keyOf(TYPES[kind], id))));
  for (const { id, subnets = [] } of listing.networks) {
    for (const { ip_range } of subnets) present.add(keyOf(SUBNET, `${id}-${ip_range}`));
  }
  const looked = new Set<string>([...Object.values(TYPES), SUBNET]);
  const kept = state.filter(({ type, id }) => !looked.has(type) || present.has(keyOf(type, id ?? "")));
  const known = new Set(kept.map(({ type, id }) => keyOf(type, id ?? "")));
  const base = withBase(withoutDangling(kept), name);
  const strangers = strangersIn(listing, known, { ...name, base });
  return { resources: [...base, ...strangers], strangers: strangers.map(({ urn }) => urn) };
}

/** True when the cloud and the state agree on what exists. */
export function isSettled(state: readonly ResourceRecord[], { resources, strangers }: Adoption): boolean {
  return strangers.length === 0 && resources.length === state.length;
}

interface Surroundings extends StackName {
  readonly base: readonly ResourceRecord[];
}

function strangersIn(listing: Listing, known: ReadonlySet<string>, around: Surroundings): readonly ResourceRecord[] {
  const provider = around.base.find(({ type }) => type === PROVIDER);
  const root = around.base.find(({ type }) => type === STACK);
  const found: ResourceRecord[] = [];
  for (const kind of collections()) {
    // Whatever comes later may use what came before: it is removed first.
    const dependencies = found.map(({ urn }) => urn);
    for (const { id, name } of listing[kind]) {
      const type = TYPES[kind];
      if (known.has(keyOf(type, id))) continue;
      found.push({
        urn: urnOf(around, type, `found-${kind}-${id}`),
        type,
        custom: true,
        id: String(id),
        ...(root && { parent: root.urn }),
        provider: `${provider?.urn}::${provider?.id}`,
        dependencies,
        inputs: { name },
        outputs: { id: String(id), name },
      });
    }
  }
  return found;
}

/** A state without a stack or a provider in it, as after a loss, gets both. */
function withBase(state: readonly ResourceRecord[], name: StackName): readonly ResourceRecord[] {
  const root = { urn: urnOf(name, STACK, `${name.project}-${name.stack}`), type: STACK, custom: false };
  const inputs = { version: name.providerVersion };
  const provider = {
    urn: urnOf(name, PROVIDER, "hcloud"),
    type: PROVIDER,
    custom: true,
    id: "6c6f7473-6500-4000-8000-000000000002",
    parent: root.urn,
    inputs,
    outputs: inputs,
  };
  const missing = [root, provider].filter(({ type }) => !state.some((record) => record.type === type));
  return [...missing, ...state];
}

/** The engine refuses a state with references to what is not in it. */
function withoutDangling(state: readonly ResourceRecord[]): readonly ResourceRecord[] {
  const urns = new Set(state.map(({ urn }) => urn));
  const there = (urn: string) => urns.has(urn);
  return state.map((record) => {
    const { dependencies, propertyDependencies, deletedWith, ...rest } = record;
    return {
      ...rest,
      ...(dependencies && { dependencies: dependencies.filter(there) }),
      ...(propertyDependencies && {
        propertyDependencies: Object.fromEntries(
          Object.entries(propertyDependencies).map(([property, needed]) => [property, (needed ?? []).filter(there)]),
        ),
      }),
      ...(deletedWith && there(deletedWith) && { deletedWith }),
    };
  });
}

function collections(): readonly (keyof Listing)[] {
  return Object.keys(TYPES) as (keyof Listing)[];
}

function keyOf(type: string, id: Listed["id"] | string): string {
  return `${type} ${id}`;
}

function urnOf({ stack, project }: StackName, type: string, name: string): string {
  return `urn:pulumi:${stack}::${project}::${type}::${name}`;
}
