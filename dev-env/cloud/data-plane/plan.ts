/** Which sockets the load balancers of a project need. Pure. */
import { resolveSelector } from "../resources/load-balancer-view.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord, LoadBalancerService, TargetRecord } from "../state/records.ts";
import type { Path, Reach } from "./reach.ts";

/** Where traffic for a target goes. */
export interface Backend extends Path {
  /** Server id or IP. */
  readonly target: number | string;
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
  /** Whether this is the first socket of its listener, for which health checks run. */
  readonly isFirst: boolean;
  readonly service: LoadBalancerService;
  readonly algorithm: LoadBalancerRecord["algorithm"]["type"];
  readonly backends: readonly Backend[];
  readonly keyPairs: readonly KeyPair[];
}

/** The sockets that should be open. */
export function planListeners(project: Project, reach: Reach): readonly ListenerPlan[] {
  return [...project.loadBalancers.values()].flatMap((balancer) =>
    balancer.services.flatMap((service) => planListener({ project, reach, balancer }, service)),
  );
}

interface Origin {
  readonly project: Project;
  readonly reach: Reach;
  readonly balancer: LoadBalancerRecord;
}

function planListener(origin: Origin, service: LoadBalancerService): readonly ListenerPlan[] {
  const { project, reach, balancer } = origin;
  const shared = {
    loadBalancer: balancer.id,
    port: service.listen_port,
    kind: service.protocol,
    service,
    algorithm: balancer.algorithm.type,
    backends: balancer.targets
      .flatMap((target) => pathsTo(origin, target))
      .map((path) => ({ ...path, port: service.destination_port })),
    keyPairs: (service.http?.certificates ?? []).flatMap((id) => keyPairOf(project, id)),
  };
  return reach.listensOn(balancer).flatMap((host, index) => {
    const plan: ListenerPlan = { ...shared, key: `${host}:${shared.port}`, host, isFirst: index === 0 };
    if (!service.http?.redirect_http) return [plan];
    return [plan, { ...plan, key: `${host}:80`, port: 80, kind: "redirect", backends: [], keyPairs: [] }];
  });
}

function pathsTo({ project, reach, balancer }: Origin, target: TargetRecord): readonly Omit<Backend, "port">[] {
  switch (target.type) {
    case "server":
      return [{ target: target.server.id, ...reach.toServer(balancer, target.server.id, target.use_private_ip) }];
    case "label_selector":
      return resolveSelector(project, balancer, target).map(({ server, use_private_ip }) => ({
        target: server.id,
        ...reach.toServer(balancer, server.id, use_private_ip),
      }));
    case "ip":
      return [{ target: target.ip.ip, ...reach.toIp(balancer, target.ip.ip) }];
  }
}

/** Socket options for a connection to a backend that has a host. */
export function socketTo({ host, port, localAddress }: Backend) {
  return { host: host ?? "", port, ...(localAddress !== undefined && { localAddress }) };
}

function keyPairOf(project: Project, id: number): readonly KeyPair[] {
  const row = project.certificates.get(id);
  if (!row?.certificate || !row.private_key) return [];
  return [{ domainNames: row.domain_names, certificate: row.certificate, privateKey: row.private_key }];
}
