/** Applies manifests to a snapshot: the cluster as it would be after `kubectl apply`. Pure. */
import { createHash } from "node:crypto";
import type { V1Node, V1Service, V1ServicePort } from "@kubernetes/client-node";
import { defined } from "../../../stacks/units/defined.ts";
import { parseJson } from "../../diagnostics/printable.ts";
import { keyOf } from "../../kube/informer.ts";
import type { Snapshot } from "../../render/cluster.ts";
import { findServer } from "../../render/node/metadata.ts";
import { parseProviderId } from "../../render/node/provider-id.ts";
import type { Manifests } from "./manifests.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
/** Default range of node ports. */
const NODE_PORTS = { first: 30_000, last: 32_767 };

/**
 * The snapshot after applying the objects. `namespace` is for Services that name none. Values that the API server would
 * assign are placeholders, and noted.
 */
export function applyManifests(
  snapshot: Snapshot,
  given: Pick<Manifests, "services" | "nodes">,
  namespace = "default",
) {
  const assignPorts = portAssigner(snapshot.services);
  const notes: string[] = [];
  const made: string[] = [];
  const numbered: string[] = [];
  const placed = given.services.map((service) => withNamespace(service, namespace));
  const services = overlay(snapshot.services, placed, (observed, manifest) => {
    const applied = applyService(observed, manifest);
    if (assignPorts(applied)) numbered.push(keyOf(applied));
    if (!observed) made.push(keyOf(applied));
    return applied;
  });
  if (numbered.length > 0)
    notes.push(`new node ports are placeholders, because the API server assigns them: Service ${numbered.join(", ")}`);
  if (made.length > 0) notes.push(`names derived from the UID are placeholders: Service ${made.join(", ")}`);
  const nodes = overlay(snapshot.nodes, given.nodes, (observed, manifest) => {
    const applied = applyNode(observed, manifest);
    const { kind } = parseProviderId(applied.spec?.providerID);
    if ((kind === "cloud" || kind === "none") && !findServer(applied, snapshot.cloud.servers))
      notes.push(`Node ${keyOf(applied)} has no server in this project, so it gets no target and no route`);
    return applied;
  });
  return { snapshot: { ...snapshot, services, nodes }, notes };
}

function overlay<T extends V1Service | V1Node>(
  observed: readonly T[],
  manifests: readonly T[],
  apply: (observed: T | undefined, manifest: T) => T,
): readonly T[] {
  const all = new Map(observed.map((object) => [keyOf(object), object]));
  for (const manifest of manifests) all.set(keyOf(manifest), apply(all.get(keyOf(manifest)), manifest));
  return [...all.values()];
}

function withNamespace(service: V1Service, namespace: string): V1Service {
  return { ...service, metadata: { namespace, ...service.metadata } };
}

function applyService(observed: V1Service | undefined, manifest: V1Service): V1Service {
  const { clusterIP, clusterIPs, healthCheckNodePort } = observed?.spec ?? {};
  const assigned = defined({ clusterIP, clusterIPs, healthCheckNodePort });
  const ports = (manifest.spec?.ports ?? []).map((port) => withNodePort(port, observed));
  return {
    metadata: {
      ...observed?.metadata,
      ...manifest.metadata,
      uid: observed?.metadata?.uid ?? placeholderUid(keyOf(manifest)),
      annotations: appliedAnnotations(observed, manifest),
    },
    spec: { type: "ClusterIP", ...assigned, ...manifest.spec, ports },
    ...defined({ status: observed?.status }),
  };
}

/** A port keeps its node port as long as its number and protocol stay the same. */
function withNodePort(port: V1ServicePort, observed: V1Service | undefined): V1ServicePort {
  const same = observed?.spec?.ports?.find(
    (candidate) => candidate.port === port.port && (candidate.protocol ?? "TCP") === (port.protocol ?? "TCP"),
  );
  return { ...defined({ nodePort: same?.nodePort }), protocol: "TCP", ...port };
}

/** kubectl removes annotations that it applied last time and that are gone from the manifest. Others stay. */
function appliedAnnotations(observed: V1Service | undefined, manifest: V1Service): Record<string, string> {
  const before = observed?.metadata?.annotations ?? {};
  // Undefined if it was not written by kubectl, which then removes nothing.
  const applied = parseJson<V1Service>(before[LAST_APPLIED])?.metadata?.annotations ?? {};
  const formerly = new Set(Object.keys(applied));
  const kept = Object.entries(before).filter(([key]) => !formerly.has(key));
  return { ...Object.fromEntries(kept), ...manifest.metadata?.annotations };
}

function applyNode(observed: V1Node | undefined, manifest: V1Node): V1Node {
  return {
    ...observed,
    metadata: {
      ...observed?.metadata,
      ...manifest.metadata,
      labels: { ...observed?.metadata?.labels, ...manifest.metadata?.labels },
      annotations: { ...observed?.metadata?.annotations, ...manifest.metadata?.annotations },
    },
    spec: { ...observed?.spec, ...manifest.spec },
  };
}

/** A function that fills in missing node ports, and the one of the health check for local traffic. It returns whether there were any. */
function portAssigner(services: readonly V1Service[]): (service: V1Service) => boolean {
  const taken = new Set(services.flatMap(({ spec }) => (spec?.ports ?? []).map(({ nodePort }) => nodePort)));
  const next = () => {
    let port = NODE_PORTS.first;
    while (taken.has(port) && port < NODE_PORTS.last) port += 1;
    taken.add(port);
    return port;
  };
  return ({ spec }) => {
    const isBalanced = spec?.type === "LoadBalancer";
    const needsThem = spec?.type === "NodePort" || (isBalanced && spec.allocateLoadBalancerNodePorts !== false);
    const without = needsThem ? (spec.ports ?? []).filter(({ nodePort }) => !nodePort) : [];
    for (const port of without) port.nodePort = next();
    const needsCheck = isBalanced && spec.externalTrafficPolicy === "Local" && !spec.healthCheckNodePort;
    if (needsCheck) spec.healthCheckNodePort = next();
    return without.length > 0 || needsCheck;
  };
}

/** A placeholder UID, the same in every preview of a Service. It begins with zeros, so it is never a real one. */
function placeholderUid(key: string): string {
  const digits = createHash("sha256").update(key).digest("hex");
  return `00000000-0000-4000-8000-${digits.slice(0, 12)}`;
}
