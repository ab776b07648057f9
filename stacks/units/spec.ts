/**
 * Specs (what should exist in Hetzner Cloud) and states (what does), as plain readonly data. This is the contract
 * between the controller, which renders specs and observes states, and the stacks, which make states match specs.
 */

/** The name of a unit, which is also the name of its Pulumi component. Runs and failures are per unit. */
export type UnitId = `load-balancer/${string}` | `route/${string}` | `certificate/${string}`;

/** What a unit should look like. */
export type UnitSpec = LoadBalancerSpec | RouteSpec | CertificateSpec;

/** The Service that a load balancer or certificate belongs to. */
export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A load balancer with all its parts. */
export interface LoadBalancerSpec {
  readonly kind: "load-balancer";
  readonly service: ServiceRef;
  readonly name: string;
  readonly type: string;
  /** Where a new load balancer is created. An existing one never moves. */
  readonly place: { readonly location: string } | { readonly networkZone: string };
  readonly algorithm: Algorithm;
  /** All labels, including those of others that are kept. */
  readonly labels: Readonly<Record<string, string>>;
  readonly deleteProtection: boolean;
  readonly network?: NetworkAttachment;
  readonly rdns?: ReverseDns;
  readonly listeners: readonly ListenerSpec[];
  readonly targets: readonly TargetSpec[];
}

/** Reverse DNS of the public addresses. Null restores Hetzner's default; an absent entry is left unchanged. */
export interface ReverseDns {
  readonly ipv4?: string | null;
  readonly ipv6?: string | null;
}

/** IP version of a public address. */
export type IpVersion = keyof ReverseDns;

/** How a load balancer selects a target. */
export type Algorithm = "round_robin" | "least_connections";

/** How a load balancer is attached to the network. */
export interface NetworkAttachment {
  readonly networkId: number;
  /** Range of the subnet for the private address; absent means any. */
  readonly subnet?: string;
  /** Requested private address; absent means that the API chooses one. */
  readonly ip?: string;
  readonly publicInterface: boolean;
}

/** One listen port of a load balancer, which the API calls a service. */
export interface ListenerSpec {
  readonly listenPort: number;
  readonly destinationPort: number;
  readonly protocol: "tcp" | "http" | "https";
  readonly proxyProtocol: boolean;
  readonly http?: HttpOptions;
  readonly healthCheck: HealthCheck;
}

/** Options of an HTTP or HTTPS listener. */
export interface HttpOptions {
  readonly stickySessions: boolean;
  readonly cookieName: string;
  readonly cookieLifetimeSeconds: number;
  readonly timeoutIdleSeconds: number;
  readonly redirectHttp: boolean;
  readonly certificateIds: readonly number[];
}

/** How targets of a listener are checked. */
export interface HealthCheck {
  readonly protocol: "tcp" | "http";
  readonly port: number;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly retries: number;
  readonly http?: HealthCheckHttp;
}

/** The request and the expected response of an HTTP health check. */
export interface HealthCheckHttp {
  readonly domain: string;
  readonly path: string;
  readonly response: string;
  readonly tls: boolean;
  readonly statusCodes: readonly string[];
}

/** A server, or an IP address of a dedicated server. */
export type TargetSpec =
  | { readonly kind: "server"; readonly serverId: number; readonly usePrivateIp: boolean }
  | { readonly kind: "ip"; readonly ip: string };

/** One route of the network, from the pod range of a node to its private address. */
export interface RouteSpec {
  readonly kind: "route";
  readonly networkId: number;
  readonly destination: string;
  readonly gateway: string;
}

/** A certificate for the listeners of one Service. */
export interface CertificateSpec {
  readonly kind: "certificate";
  readonly service: ServiceRef;
  readonly name: string;
  /** All labels, including those of others that are kept. */
  readonly labels: Readonly<Record<string, string>>;
  readonly content: CertificateContent;
}

/**
 * The content of a certificate. It never changes: new content means a new certificate beside the old one. Private keys
 * are not included, so that they cannot leak into a state, preview or record; the gateway inserts them.
 */
export type CertificateContent = ManagedContent | UploadedContent;

/** The content of a certificate that Hetzner issues. */
interface ManagedContent {
  readonly type: "managed";
  /** Lower case, sorted, without duplicates. */
  readonly domains: readonly string[];
  /** Whether the certificate authority's staging environment issues it. */
  readonly isStaging: boolean;
}

/** The content of a certificate that users provide. */
export interface UploadedContent {
  readonly type: "uploaded";
  /** The certificate and its chain, in PEM format. */
  readonly pem: string;
  /** SHA-256 of the certificate, as hexadecimal digits with colons. */
  readonly fingerprint: string;
  /** Identifies the certificate together with its chain, as hexadecimal digits; absent without a chain. */
  readonly chain?: string;
}

/** What exists of a unit, in the terms of its spec, with ids. */
export type UnitState = LoadBalancerState | RouteSpec | CertificateState;

/** What exists, by unit. */
export type UnitStates = Readonly<Partial<Record<UnitId, UnitState>>>;

/** A load balancer as listed by the cloud. */
export interface LoadBalancerState extends Omit<LoadBalancerSpec, "service" | "place" | "network" | "rdns"> {
  readonly id: number;
  readonly location: string;
  readonly networkZone: string;
  readonly publicInterface: boolean;
  readonly ipv4?: string;
  readonly ipv6?: string;
  /** At most one attachment exists at a time. */
  readonly network?: AttachmentState;
  /** Reverse DNS of the public addresses, where set. */
  readonly rdns?: { readonly [V in IpVersion]?: string };
}

/** A certificate as listed by the cloud. */
export interface CertificateState extends CertificateSpec {
  readonly id: number;
}

/** A network attachment as listed by the cloud. */
export interface AttachmentState {
  readonly networkId: number;
  readonly ip: string;
  /** Range of the subnet that contains the address, if known. */
  readonly subnet?: string;
}
