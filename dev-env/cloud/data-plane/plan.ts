/** Which sockets the load balancers of a project need. Pure. */
import { resolveSelector } from "../resources/load-balancer-view.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord, LoadBalancerService, TargetRecord } from "../state/records.ts";

/** Where traffic for a target goes. Without a host, the target is unreachable. */
export interface Backend {
  /** Server id or IP. */
  readonly target: number | string;
  readonly host: string | undefined;
  readonly port: number;
}

/** A certificate of a listener, with its names. */
export interface KeyPair {
  readonly domainNames: readonly string[];
  readonly certificate: string;
  readonly privateKey: string;
}

/** A socket to open, with everything needed to serve it. */
export interface ListenerPlan {
  readonly key: string;
  readonly loadBalancer: number;
  readonly host: string;
  readonly port: number;
  readonly kind: "tcp" | "http" | "https" | "redirect";
  readonly service: LoadBalancerService;
  readonly algorithm: LoadBalancerRecord["algorithm"]["type"];
  readonly backends: readonly Backend[];
  readonly keyPairs: readonly KeyPair[];
}

/** The sockets that should be open. */
export function planListeners(project: Project): readonly ListenerPlan[] {
  return [...project.loadBalancers.values()]
    .filter((balancer) => balancer.public_net.enabled)
    .flatMap((balancer) => balancer.services.flatMap((service) => planService(project, balancer, service)));
}

function planService(
  project: Project,
  balancer: LoadBalancerRecord,
  service: LoadBalancerService,
): readonly ListenerPlan[] {
  const host = balancer.public_net.ipv4.ip;
  if (host === null) return [];
  const plan: ListenerPlan = {
    key: `${host}:${service.listen_port}`,
    loadBalancer: balancer.id,
    host,
    port: service.listen_port,
    kind: service.protocol,
    service,
    algorithm: balancer.algorithm.type,
    backends: balancer.targets.flatMap((target) => backendsOf(project, balancer, { target, service })),
    keyPairs: (service.http?.certificates ?? []).flatMap((id) => keyPairOf(project, id)),
  };
  if (!service.http?.redirect_http) return [plan];
  return [plan, { ...plan, key: `${host}:80`, port: 80, kind: "redirect", backends: [], keyPairs: [] }];
}

interface Destination {
  readonly target: TargetRecord;
  readonly service: LoadBalancerService;
}

function backendsOf(
  project: Project,
  balancer: LoadBalancerRecord,
  { target, service }: Destination,
): readonly Backend[] {
  const port = service.destination_port;
  switch (target.type) {
    case "server":
      return [serverBackend(project, target.server.id, port)];
    case "label_selector":
      return resolveSelector(project, balancer, target).map(({ server }) => serverBackend(project, server.id, port));
    case "ip":
      // The data plane only contacts loopback addresses; other targets stay unhealthy.
      return [{ target: target.ip.ip, host: target.ip.ip.startsWith("127.") ? target.ip.ip : undefined, port }];
  }
}

/** Private and public targets are reached at the same loopback address; stopped servers are unreachable. */
function serverBackend(project: Project, id: number, port: number): Backend {
  const server = project.servers.get(id);
  return { target: id, host: server?.status === "running" ? server.backend : undefined, port };
}

function keyPairOf(project: Project, id: number): readonly KeyPair[] {
  const row = project.certificates.get(id);
  if (!row?.certificate || !row.private_key) return [];
  return [{ domainNames: row.domain_names, certificate: row.certificate, privateKey: row.private_key }];
}
