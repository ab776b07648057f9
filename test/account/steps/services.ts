/**
 * Services and their annotations. Each row changes the Service of the row before it, in place. A Service changes at most four
 * times, because Lotse slows down those that change more often.
 */
import { equal, notEqual, ok } from "node:assert/strict";
import type { Row } from "./step.ts";

const listener = (fields: object) => ({ services: [fields] });
const TCP = { service: "tcp", after: "tcp" } as const;
const PLACED = { service: "placed", after: "placed" } as const;
const WEB = { service: "web", after: "http" } as const;
/** The check that every address in the status is as it should be. */
const everyIp =
  (isFine: (ip: string) => boolean, complaint: string): Required<Row>["status"] =>
  (entries) => {
    for (const { ip } of entries) ok(ip && isFine(ip), complaint);
  };
/** The subnet of the suite's network for load balancers, and an address in it. */
export const BALANCER_SUBNET = { range: "10.0.2.0/24", address: "10.0.2.200" };

/** A TCP Service. */
export const TCP_ROWS: readonly Row[] = [
  {
    id: "tcp",
    title: "A Service of type LoadBalancer gets an address, and a load balancer that forwards to its node port.",
    needs: "cluster",
    service: "tcp",
    annotate: {},
    check: async ({ services, location }, stage) => {
      const { spec } = await stage.service("tcp");
      if (stage.parts.location !== "") equal(location.name, stage.parts.location);
      equal(services[0]?.listen_port, 80);
      equal(services[0]?.destination_port, spec?.ports?.[0]?.nodePort);
    },
  },
  {
    ...TCP,
    id: "tcp-targets",
    title: "All nodes are targets.",
    needs: "project",
    annotate: {},
    balancer: { targets: [{ type: "server" }, { type: "server" }] },
  },
  {
    ...TCP,
    id: "tcp-options",
    title: "Algorithm, PROXY protocol, health check and host name in the status change in place.",
    needs: "cluster",
    annotate: {
      "algorithm-type": "least_connections",
      "uses-proxyprotocol": "true",
      hostname: "lb.example.com",
      "health-check-protocol": "http",
      "health-check-port": "8080",
      "health-check-interval": "5s",
      "health-check-timeout": "4s",
      "health-check-retries": "2",
      "health-check-http-domain": "example.com",
      "health-check-http-path": "/up",
      "health-check-http-validate-certificate": "false",
      "http-status-codes": "204,3??",
    },
    status: (entries) => equal(entries.map(({ hostname, ip }) => hostname ?? ip).join(), "lb.example.com"),
    balancer: {
      algorithm: { type: "least_connections" },
      services: [
        {
          proxyprotocol: true,
          health_check: {
            protocol: "http",
            port: 8080,
            interval: 5,
            timeout: 4,
            retries: 2,
            http: { domain: "example.com", path: "/up", tls: false, status_codes: ["204", "3??"] },
          },
        },
      ],
    },
  },
  {
    ...TCP,
    id: "tcp-defaults",
    title: "Without annotations, the defaults are restored.",
    needs: "project",
    annotate: {},
    balancer: {
      algorithm: { type: "round_robin" },
      services: [{ proxyprotocol: false, health_check: { protocol: "tcp", interval: 15, timeout: 10, retries: 3 } }],
    },
    status: everyIp(() => true, "an entry has no address"),
  },
];

/** A Service with options for addresses, targets and the load balancer itself. */
export const PLACED_ROWS: readonly Row[] = [
  {
    id: "placed",
    title: "Only selected nodes are targets, and the status has no private address.",
    needs: "project",
    service: "placed",
    annotate: { "node-selector": "kubernetes.io/hostname in (lotse-test-1)", "disable-private-ingress": "true" },
    status: everyIp((ip) => !ip.startsWith("10."), "an address is private"),
    balancer: { targets: [{ type: "server" }] },
  },
  {
    ...PLACED,
    id: "placed-private",
    title: "The load balancer has no public interface, and reaches its targets over the network.",
    needs: "project",
    annotate: { "use-private-ip": "true", "disable-public-network": "true" },
    balancer: { public_net: { enabled: false }, targets: [{ use_private_ip: true }, { use_private_ip: true }] },
  },
  {
    ...PLACED,
    id: "placed-public",
    title: "The load balancer has reverse DNS names, labels, a larger type and delete protection.",
    needs: "project",
    annotate: {
      "ipv4-rdns": "a.example.com",
      "ipv6-rdns": "b.example.com",
      labels: "team=web",
      type: "lb21",
      "delete-protection": "true",
    },
    balancer: {
      public_net: { enabled: true, ipv4: { dns_ptr: "a.example.com" }, ipv6: { dns_ptr: "b.example.com" } },
      labels: { team: "web" },
      load_balancer_type: { name: "lb21" },
      protection: { delete: true },
    },
  },
  {
    ...PLACED,
    id: "placed-local",
    title: "Without annotations, the type stays; with externalTrafficPolicy Local, the health check asks kube-proxy.",
    needs: "project",
    annotate: {},
    spec: { externalTrafficPolicy: "Local" },
    balancer: { load_balancer_type: { name: "lb21" }, protection: { delete: false } },
    check: async ({ labels, public_net: { ipv4 }, services: [first] }, stage) => {
      equal(labels.team, undefined);
      notEqual(ipv4.dns_ptr, "a.example.com");
      equal(first?.health_check.port, (await stage.service("placed")).spec?.healthCheckNodePort);
      equal(first?.health_check.http?.path, "/healthz");
    },
  },
];

/** An HTTP Service. */
export const WEB_ROWS: readonly Row[] = [
  {
    id: "http",
    title:
      "An http listener has the annotated cookie, sticky sessions and idle timeout; the status has no IPv6 address.",
    needs: "cluster",
    service: "web",
    annotate: {
      protocol: "http",
      "http-cookie-name": "SID",
      "http-cookie-lifetime": "1m",
      "http-timeout-idle": "40s",
      "http-sticky-sessions": "true",
      "ipv6-disabled": "true",
    },
    status: everyIp((ip) => !ip.includes(":"), "an address is not IPv4"),
    balancer: listener({ protocol: "http", http: { cookie_name: "SID", cookie_lifetime: 60, sticky_sessions: true } }),
    check: ({ services: [first] }) => equal(first?.http?.timeout_idle ?? 40, 40),
  },
  {
    ...WEB,
    id: "http-app-protocol",
    title: "The protocol of a port follows its appProtocol.",
    needs: "project",
    annotate: { "uses-app-protocol": "true" },
    spec: { ports: [{ name: "p80", port: 80, appProtocol: "http" }] },
    balancer: listener({ protocol: "http", http: { cookie_name: "HCLBSTICKY", sticky_sessions: false } }),
  },
  {
    ...WEB,
    id: "http-per-port",
    title: "Ports come and go, each with its own options.",
    needs: "project",
    annotate: { "80.protocol": "http", "p81.uses-proxyprotocol": "true" },
    spec: { ports: [80, 81].map((port) => ({ name: `p${port}`, port })) },
    balancer: { services: [{ protocol: "http" }, { protocol: "tcp", proxyprotocol: true }] },
  },
];

/** A Service whose options count when the load balancer is created. */
export const NAMED_ROWS: readonly Row[] = [
  {
    id: "named",
    title: "A new load balancer has the name, network zone, subnet and private address of the annotations.",
    needs: "project",
    service: "named",
    annotate: {
      name: "lotse-test-named",
      location: "",
      "network-zone": (stage) => stage.machines.zone,
      "private-subnet-ip-range": BALANCER_SUBNET.range,
      "private-ipv4": BALANCER_SUBNET.address,
    },
    balancer: { name: "lotse-test-named", private_net: [{ ip: BALANCER_SUBNET.address }] },
  },
];
