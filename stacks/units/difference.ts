/** Compares spec and state field by field. The field names appear in drift Events, previews and the audit record. */
import { listenerPart, targetPart } from "./names.ts";
import type {
  CertificateSpec,
  IpVersion,
  LoadBalancerSpec,
  LoadBalancerState,
  ReverseDns,
  RouteSpec,
  UnitSpec,
  UnitState,
} from "./spec.ts";

/** One field that differs. An absent side means that the field does not exist there. */
export interface Difference {
  readonly field: string;
  readonly want?: string;
  readonly have?: string;
}

/** All fields set by the spec that differ, sorted by name. Without a state, all fields of the spec. */
export function differences(spec: UnitSpec, state: UnitState | undefined): readonly Difference[] {
  switch (spec.kind) {
    case "route":
      return compare(routeFields(spec), state?.kind === "route" ? routeFields(state) : {});
    case "certificate":
      return compare(certificateFields(spec), state?.kind === "certificate" ? certificateFields(state) : {});
    case "load-balancer":
      return compare(wantedFields(spec), state?.kind === "load-balancer" ? existingFields(state, spec) : {});
  }
}

type Fields = Readonly<Record<string, string>>;

function compare(want: Fields, have: Fields): readonly Difference[] {
  const names = [...new Set([...Object.keys(want), ...Object.keys(have)])].sort();
  return names
    .filter((field) => want[field] !== have[field])
    .map((field) => ({
      field,
      ...(want[field] !== undefined && { want: want[field] }),
      ...(have[field] !== undefined && { have: have[field] }),
    }));
}

function routeFields({ networkId, gateway }: RouteSpec): Fields {
  return { gateway, networkId: String(networkId) };
}

/** Identifies the content by domains or fingerprint, because these fields are shown to users. */
function certificateFields({ name, labels, content }: CertificateSpec): Fields {
  return {
    name,
    ...labelFields(labels),
    ...(content.type === "managed" ? { domains: content.domains.join(",") } : { fingerprint: content.fingerprint }),
  };
}

function labelFields(labels: Fields): Fields {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [`label ${key}`, value]));
}

function wantedFields(spec: LoadBalancerSpec): Fields {
  return {
    ...commonFields(spec),
    ...(spec.network && {
      "network id": String(spec.network.networkId),
      "public interface": String(spec.network.publicInterface),
      ...(spec.network.subnet !== undefined && { "network subnet": spec.network.subnet }),
      ...(spec.network.ip !== undefined && { "network ip": spec.network.ip }),
    }),
    ...rdnsFields(spec.rdns, () => true),
  };
}

/**
 * Ignores fields that the spec leaves open: a private address chosen by the API, the public interface (which only an
 * attachment can switch), and the network if none is configured, because that is more likely an omission than a request
 * to detach (HCCM S13f detaches).
 */
function existingFields(state: LoadBalancerState, spec: LoadBalancerSpec): Fields {
  return {
    ...commonFields(state),
    ...(spec.network && state.network && { "network id": String(state.network.networkId) }),
    ...(spec.network && { "public interface": String(state.publicInterface) }),
    ...(spec.network?.subnet !== undefined && state.network && { "network subnet": state.network.subnet ?? "unknown" }),
    ...(spec.network?.ip !== undefined && state.network && { "network ip": state.network.ip }),
    ...rdnsFields(state.rdns, (version) => spec.rdns?.[version] !== undefined),
  };
}

function rdnsFields(rdns: ReverseDns = {}, isConcerned: (version: IpVersion) => boolean): Fields {
  const versions = (["ipv4", "ipv6"] as const).filter(isConcerned);
  return Object.fromEntries(
    versions.flatMap((version) => (rdns[version] ? [[`reverse dns of ${version}`, rdns[version]]] : [])),
  );
}

function commonFields(of: LoadBalancerSpec | LoadBalancerState): Fields {
  const fields: Record<string, string> = {
    name: of.name,
    type: of.type,
    algorithm: of.algorithm,
    "delete protection": String(of.deleteProtection),
    ...labelFields(of.labels),
  };
  for (const target of of.targets) {
    fields[`target ${targetPart(target)}`] =
      target.kind === "ip" ? "public" : target.usePrivateIp ? "private" : "public";
  }
  for (const { listenPort, ...listener } of of.listeners) flatten(listenerPart(listenPort), listener, fields);
  return fields;
}

function flatten(path: string, value: object, into: Record<string, string>): void {
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const field = `${path} ${key}`;
    if (Array.isArray(inner)) into[field] = inner.toSorted().join(",");
    else if (typeof inner === "object") flatten(field, inner, into);
    else into[field] = String(inner);
  }
}
