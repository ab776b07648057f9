/** Compares spec and state, field by field. Decides which units need a run, and words drift. */
import { defined } from "./defined.ts";
import { isPrivate } from "./inputs.ts";
import { comparePartNames, listenerPart, mainPart, rdnsPart, targetPart } from "./names.ts";
import type {
  CertificateContent,
  CertificateSpec,
  IpVersion,
  LoadBalancerSpec,
  LoadBalancerState,
  RouteSpec,
  UnitId,
  UnitSpec,
  UnitState,
} from "./spec.ts";

/** One field that differs. An absent side means that the field does not exist there. */
export interface Difference {
  /** The resource inside the unit, as in the stack: `balancer`, `listener-80`, `server-1`. */
  readonly part: string;
  readonly field: string;
  readonly want?: string;
  readonly have?: string;
}

/** Stands for a unit as a whole, as the only difference of one that is to be removed. */
export function existence(unit: UnitId): Difference {
  return { part: mainPart(unit), field: "existence", have: "present" };
}

/** All fields set by the spec that differ, in the order of parts and names. Without a state, all fields of the spec. */
export function differences(spec: UnitSpec, state: UnitState | undefined): readonly Difference[] {
  const known = compared.get(spec);
  if (known && known.state === state) return known.found;
  const found = findDifferences(spec, state);
  compared.set(spec, { state, found });
  return found;
}

/** The last comparison of each spec: a turn asks several times about the same objects, which never change. */
const compared = new WeakMap<
  UnitSpec,
  { readonly state: UnitState | undefined; readonly found: readonly Difference[] }
>();

function findDifferences(spec: UnitSpec, state: UnitState | undefined): readonly Difference[] {
  switch (spec.kind) {
    case "route":
      return compare(routeParts(spec), state?.kind === "route" ? routeParts(state) : {});
    case "certificate":
      return compare(certificateParts(spec), state?.kind === "certificate" ? certificateParts(state) : {});
    case "load-balancer":
      return compare(wantedParts(spec), state?.kind === "load-balancer" ? existingParts(state, spec) : {});
  }
}

/** A field for users: `type`, `listener 443 health check port`, `target server-3`. */
export function describeField({ part, field }: Pick<Difference, "part" | "field">): string {
  const words = field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const [kind] = part.split("-", 1);
  switch (kind) {
    case "listener":
      return `${part.replace("-", " ")} ${words}`;
    case "server":
    case "ip":
      return `target ${part}`;
    case "rdns":
      return `reverse DNS of ${part.endsWith("4") ? "IPv4" : "IPv6"}`;
    case "network":
      return `network ${field}`;
    default:
      return field;
  }
}

type Fields = Readonly<Record<string, string>>;
type Parts = Readonly<Record<string, Fields>>;

function compare(want: Parts, have: Parts): readonly Difference[] {
  const parts = [...new Set([...Object.keys(want), ...Object.keys(have)])];
  const differing = parts.flatMap((part) => {
    const found = compareFields(part, want[part] ?? {}, have[part] ?? {});
    return found.length > 0 ? [{ part, found }] : [];
  });
  // Sorted last, because most units match in all of their many parts.
  return differing.toSorted((a, b) => comparePartNames(a.part, b.part)).flatMap(({ found }) => found);
}

function compareFields(part: string, want: Fields, have: Fields): readonly Difference[] {
  const names = [...new Set([...Object.keys(want), ...Object.keys(have)])];
  return names
    .filter((field) => want[field] !== have[field])
    .toSorted()
    .map((field) => ({ part, field, ...defined({ want: want[field], have: have[field] }) }));
}

function routeParts({ networkId, gateway }: RouteSpec): Parts {
  return { route: { gateway, "network id": String(networkId) } };
}

function certificateParts({ name, labels, content }: CertificateSpec): Parts {
  return { certificate: { name, ...labelFields(labels), ...identityOf(content) } };
}

/** Domains, or hashes of the certificate and its chain, because these fields are shown to users. */
function identityOf(content: CertificateContent): Fields {
  if (content.type === "managed") return { domains: content.domains.join(",") };
  return { fingerprint: content.fingerprint, ...defined({ chain: content.chain }) };
}

function labelFields(labels: Fields): Fields {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [`label ${key}`, value]));
}

function wantedParts(spec: LoadBalancerSpec): Parts {
  const { network, rdns = {} } = spec;
  return {
    ...commonParts(spec),
    ...(network && {
      network: {
        id: String(network.networkId),
        "public interface": String(network.publicInterface),
        ...defined({ subnet: network.subnet, ip: network.ip }),
      },
    }),
    ...rdnsParts(rdns, spec),
  };
}

/**
 * Ignores fields that the spec leaves open: a private address chosen by the API, the public interface (which only an
 * attachment can switch), and the network if none is configured, because that is more likely an omission than a request
 * to detach (HCCM S13f detaches).
 */
function existingParts(state: LoadBalancerState, spec: LoadBalancerSpec): Parts {
  const { network } = state;
  return {
    ...commonParts(state),
    ...(spec.network && {
      network: {
        "public interface": String(state.publicInterface),
        ...(network && { id: String(network.networkId) }),
        ...(network && spec.network.subnet !== undefined && { subnet: network.subnet ?? "unknown" }),
        ...(network && spec.network.ip !== undefined && { ip: network.ip }),
      },
    }),
    ...rdnsParts(state.rdns ?? {}, spec),
  };
}

/** Entries that the spec leaves open are ignored. */
function rdnsParts(names: NonNullable<LoadBalancerSpec["rdns"]>, { rdns = {} }: LoadBalancerSpec): Parts {
  const versions = (["ipv4", "ipv6"] as const).filter((version: IpVersion) => rdns[version] !== undefined);
  return Object.fromEntries(
    versions.flatMap((version) => (names[version] ? [[rdnsPart(version), { name: names[version] }]] : [])),
  );
}

function commonParts(of: LoadBalancerSpec | LoadBalancerState): Parts {
  const parts: Record<string, Fields> = {
    balancer: {
      name: of.name,
      type: of.type,
      algorithm: of.algorithm,
      "delete protection": String(of.deleteProtection),
      ...labelFields(of.labels),
    },
  };
  for (const target of of.targets) {
    parts[targetPart(target)] = { address: isPrivate(target) ? "private" : "public" };
  }
  for (const { listenPort, ...listener } of of.listeners) parts[listenerPart(listenPort)] = flatten(listener);
  return parts;
}

/** Nested fields get the path as their name: `healthCheck port`. Lists are sets. */
function flatten(value: object): Fields {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]): [string, string][] => {
      if (inner === undefined) return [];
      if (Array.isArray(inner)) return [[key, inner.toSorted().join(",")]];
      if (typeof inner !== "object") return [[key, String(inner)]];
      return Object.entries(flatten(inner)).map(([name, text]) => [`${key} ${name}`, text]);
    }),
  );
}
