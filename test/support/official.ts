/**
 * A model of HCCM's load balancer controller, which makes the same calls as its source code. For migration tests
 * without HCCM's binary.
 */

import type { V1Service, V1ServicePort } from "@kubernetes/client-node";
import { call, type Json } from "../unit/dev-env/cloud/client.ts";
import { changeCloud } from "./change-cloud.ts";
import type { World } from "./world.ts";

const LABEL = "hcloud-ccm/service-uid";
const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";
const UNINITIALISED = "node.cloudprovider.kubernetes.io/uninitialized";

const text = (value: string) => value;
const isTrue = (value: string) => value === "true";
/** Parses durations in seconds or minutes. */
const seconds = (value: string) => Number.parseInt(value, 10) * (value.endsWith("m") ? 60 : 1);
const list = (value: string) => value.split(",");

type Fields = Readonly<Record<string, readonly [field: string, parse: (value: string) => unknown]>>;

/** Fields that are sent only if their annotation is set. */
const HTTP: Fields = {
  "http-cookie-name": ["cookie_name", text],
  "http-cookie-lifetime": ["cookie_lifetime", seconds],
  "http-timeout-idle": ["timeout_idle", seconds],
  "http-sticky-sessions": ["sticky_sessions", isTrue],
};
/** If one of these is set, the health check counts as configured (H1). */
const CHECK: Fields = {
  "health-check-protocol": ["protocol", text],
  "health-check-port": ["port", Number],
  "health-check-interval": ["interval", seconds],
  "health-check-timeout": ["timeout", seconds],
  "health-check-retries": ["retries", Number],
};
const CHECK_HTTP: Fields = {
  "health-check-http-domain": ["domain", text],
  "health-check-http-path": ["path", text],
  "health-check-http-status-codes": ["status_codes", list],
};

/** Initialises nodes and creates routes, as HCCM does. */
export async function prepareNodes(world: World): Promise<void> {
  for (const { metadata, spec } of (await world.core.listNode()).items) {
    // Known nodes are not changed.
    if (spec?.providerID) continue;
    const name = metadata?.name ?? "";
    const server = world.cloud.state.servers.find(name);
    const taints = spec?.taints?.filter(({ key }) => key !== UNINITIALISED) ?? [];
    const body = [
      { op: "add", path: "/spec/providerID", value: `hcloud://${server?.id}` },
      { op: "add", path: "/spec/taints", value: taints },
    ];
    await world.core.patchNode({ name, body });
    const route = { destination: spec?.podCIDR, gateway: server?.private_net[0]?.ip };
    await world.changeCloud("POST", `/networks/${world.networkId}/actions/add_route`, route);
  }
}

/** Reconciles the load balancer of a Service, and its status (S8 to S16). */
export async function ensureBalancer(world: World, service: V1Service): Promise<void> {
  const { namespace = "", name = "" } = service.metadata ?? {};
  const claim = [{ op: "add", path: "/metadata/finalizers", value: [FINALIZER] }];
  if (!service.metadata?.finalizers?.includes(FINALIZER)) {
    await world.core.patchNamespacedService({ namespace, name, body: claim });
  }
  const found = await findOrCreate(world, service);
  await ensureFields(world, service, found);
  for (const port of service.spec?.ports ?? []) await ensureListener(world, service, { port, balancer: found });
  await ensureTargets(world, service, found);
  const balancer = world.cloud.state.loadBalancers.get(found.id);
  const ipMode = isTrue(read(service, "uses-proxyprotocol") ?? "") ? "Proxy" : "VIP";
  const { ipv4, ipv6 } = balancer?.public_net ?? {};
  const ips = [ipv4?.ip, ipv6?.ip, ...(balancer?.private_net ?? []).map(({ ip }) => ip)];
  const status = { loadBalancer: { ingress: ips.map((ip) => ({ ip, ipMode })) } };
  await world.core.patchNamespacedServiceStatus({
    namespace,
    name,
    body: [{ op: "add", path: "/status", value: status }],
  });
}

async function findOrCreate({ cloud }: World, service: V1Service): Promise<Json> {
  const uid = service.metadata?.uid ?? "";
  const { body } = await call(cloud, `GET /load_balancers?label_selector=${encodeURIComponent(`${LABEL}=${uid}`)}`);
  if (body.load_balancers.length > 0) return body.load_balancers[0];
  const algorithm = read(service, "algorithm-type");
  const request = {
    name: read(service, "name") ?? `a${uid.replaceAll("-", "")}`.slice(0, 32),
    load_balancer_type: read(service, "type") ?? "lb11",
    labels: { [LABEL]: uid },
    location: read(service, "location"),
    ...(algorithm && { algorithm: { type: algorithm } }),
  };
  return (await changeCloud(cloud, "POST", "/load_balancers", request)).load_balancer;
}

/** Changes fields of the load balancer that differ (S13). */
async function ensureFields({ cloud, networkId }: World, service: V1Service, { id }: Json): Promise<void> {
  const balancer = cloud.state.loadBalancers.get(id);
  const act = (action: string, body: object) =>
    changeCloud(cloud, "POST", `/load_balancers/${id}/actions/${action}`, body);
  const name = read(service, "name");
  if (name && name !== balancer?.name) await changeCloud(cloud, "PUT", `/load_balancers/${id}`, { name });
  const pointer = read(service, "ipv4-rdns");
  if (pointer !== undefined && pointer !== balancer?.public_net.ipv4.dns_ptr) {
    await act("change_dns_ptr", { ip: balancer?.public_net.ipv4.ip, dns_ptr: pointer });
  }
  const type = read(service, "algorithm-type");
  if (type && type !== balancer?.algorithm.type) await act("change_algorithm", { type });
  const balancerType = read(service, "type");
  if (balancerType && balancerType !== balancer?.load_balancer_type.name) {
    await act("change_type", { load_balancer_type: balancerType });
  }
  if (balancer?.private_net.length === 0) await act("attach_to_network", { network: networkId });
}

/** Always updates existing listeners, without comparison (V2), with the configured fields (V4). */
async function ensureListener(
  { cloud }: World,
  service: V1Service,
  { port, balancer }: { readonly port: V1ServicePort; readonly balancer: Json },
): Promise<void> {
  const isThere = balancer.services.some((one: Json) => one.listen_port === port.port);
  const proxy = read(service, "uses-proxyprotocol");
  const http = { ...fieldsOf(service, HTTP), ...(await certificatesOf(cloud, service)) };
  const protocol = read(service, "protocol") ?? "tcp";
  const request = {
    listen_port: port.port,
    destination_port: port.nodePort,
    protocol,
    ...(proxy !== undefined && { proxyprotocol: isTrue(proxy) }),
    ...(Object.keys(http).length > 0 && { http }),
    health_check: healthCheckOf(service, protocol, port.nodePort ?? 0),
  };
  const action = isThere ? "update_service" : "add_service";
  await changeCloud(cloud, "POST", `/load_balancers/${balancer.id}/actions/${action}`, request);
}

function healthCheckOf(service: V1Service, protocol: string, port: number): object {
  const check = fieldsOf(service, CHECK);
  if (Object.keys(check).length === 0) return { protocol: "tcp", port };
  const whole = { protocol, port, ...check };
  return whole.protocol === "tcp" ? whole : { ...whole, http: fieldsOf(service, CHECK_HTTP) };
}

/** Finds a certificate by name, or by the label of the Service, or creates it (C1, C2). */
async function certificatesOf(cloud: World["cloud"], service: V1Service): Promise<object> {
  const names = read(service, "http-certificates");
  if (names) return { certificates: names.split(",").map((name) => cloud.state.certificates.find(name)?.id) };
  if (read(service, "certificate-type") !== "managed") return {};
  const uid = service.metadata?.uid ?? "";
  const name = `ccm-managed-certificate-${uid}`;
  if (!cloud.state.certificates.find(name)) {
    const domains = read(service, "http-managed-certificate-domains")?.split(",");
    const request = { name, type: "managed", domain_names: domains, labels: { [LABEL]: uid } };
    await changeCloud(cloud, "POST", "/certificates", request);
  }
  const own = cloud.state.certificates.values().filter(({ labels }) => labels[LABEL] === uid);
  if (own.length !== 1) throw new Error(`${own.length} certificates have the label of ${service.metadata?.name}`);
  return { certificates: own.map(({ id }) => id) };
}

/** Removes targets that differ, then adds missing ones (T2). */
async function ensureTargets({ core, cloud }: World, service: V1Service, { id }: Json): Promise<void> {
  const use_private_ip = isTrue(read(service, "use-private-ip") ?? "");
  const wanted = (await core.listNode()).items.map(({ spec }) => Number(spec?.providerID?.replace("hcloud://", "")));
  const existing = (cloud.state.loadBalancers.get(id)?.targets ?? []).filter((target) => target.type === "server");
  const isRight = ({ server, use_private_ip: isPrivate }: (typeof existing)[number]) =>
    wanted.includes(server.id) && isPrivate === use_private_ip;
  const act = (action: string, server: number, more: object = {}) => {
    const target = { type: "server", server: { id: server }, ...more };
    return changeCloud(cloud, "POST", `/load_balancers/${id}/actions/${action}`, target);
  };
  for (const target of existing) if (!isRight(target)) await act("remove_target", target.server.id);
  const kept = existing.filter(isRight).map(({ server }) => server.id);
  for (const server of wanted) if (!kept.includes(server)) await act("add_target", server, { use_private_ip });
}

function read({ metadata }: V1Service, annotation: string): string | undefined {
  return metadata?.annotations?.[`load-balancer.hetzner.cloud/${annotation}`];
}

function fieldsOf(service: V1Service, fields: Fields): Record<string, unknown> {
  const entries = Object.entries(fields).flatMap(([annotation, [field, parse]]) => {
    const value = read(service, annotation);
    return value === undefined ? [] : [[field, parse(value)]];
  });
  return Object.fromEntries(entries);
}
