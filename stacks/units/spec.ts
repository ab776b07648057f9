/**
 * What one cluster wants from Hetzner Cloud, and what of it exists. Plain readonly data: the contract between the
 * Kubernetes side, which renders and observes, and the Pulumi side, which makes the two equal.
 */

/** What one run may touch and one failure may hurt. Also the name of the unit's Pulumi component. */
export type UnitId = `load-balancer/${string}` | `route/${string}` | `certificate/${string}`;

/** One thing wanted. */
export type UnitSpec = LoadBalancerSpec | RouteSpec | CertificateSpec;

/** The Service a balancer or a certificate belongs to. */
export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A balancer with everything on it. */
export interface LoadBalancerSpec {
  readonly kind: "load-balancer";
  readonly service: ServiceRef;
  readonly name: string;
  readonly type: string;
  /** Where a new balancer goes. Never moves an existing one. */
  readonly place: { readonly location: string } | { readonly networkZone: string };
  readonly algorithm: Algorithm;
  /** All labels the balancer should carry, foreign ones included. */
  readonly labels: Readonly<Record<string, string>>;
  readonly deleteProtection: boolean;
  readonly network?: NetworkAttachment;
  readonly rdns?: ReverseDns;
  readonly listeners: readonly ListenerSpec[];
  readonly targets: readonly TargetSpec[];
}

/** Names of the public addresses: null brings the provider's own back, an absent one is left as it is. */
export interface ReverseDns {
  readonly ipv4?: string | null;
  readonly ipv6?: string | null;
}

export type IpVersion = keyof ReverseDns;

export type Algorithm = "round_robin" | "least_connections";

/** How a balancer is attached to the cluster's network. */
export interface NetworkAttachment {
  readonly networkId: number;
  /** Range of the subnet that the address is in; absent means any. */
  readonly subnet?: string;
  /** Wanted private address; absent means the API chooses. */
  readonly ip?: string;
  readonly publicInterface: boolean;
}

/** One listen port of a balancer (the API calls it a service). */
export interface ListenerSpec {
  readonly listenPort: number;
  readonly destinationPort: number;
  readonly protocol: "tcp" | "http" | "https";
  readonly proxyProtocol: boolean;
  readonly http?: HttpOptions;
  readonly healthCheck: HealthCheck;
}

export interface HttpOptions {
  readonly stickySessions: boolean;
  readonly cookieName: string;
  readonly cookieLifetimeSeconds: number;
  readonly timeoutIdleSeconds: number;
  readonly redirectHttp: boolean;
  readonly certificateIds: readonly number[];
}

export interface HealthCheck {
  readonly protocol: "tcp" | "http";
  readonly port: number;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly retries: number;
  readonly http?: HealthCheckHttp;
}

export interface HealthCheckHttp {
  readonly domain: string;
  readonly path: string;
  readonly response: string;
  readonly tls: boolean;
  readonly statusCodes: readonly string[];
}

export type TargetSpec =
  | { readonly kind: "server"; readonly serverId: number; readonly usePrivateIp: boolean }
  | { readonly kind: "ip"; readonly ip: string };

/** One route of the cluster's network: pods of one node behind its private address. */
export interface RouteSpec {
  readonly kind: "route";
  readonly networkId: number;
  readonly destination: string;
  readonly gateway: string;
}

/** A certificate made for the listeners of one Service. */
export interface CertificateSpec {
  readonly kind: "certificate";
  readonly service: ServiceRef;
  readonly name: string;
  /** All labels the certificate should carry, foreign ones included. */
  readonly labels: Readonly<Record<string, string>>;
  readonly content: CertificateContent;
}

/**
 * What a certificate holds. It never changes: other content is another certificate, made beside the first. The private key
 * of an uploaded one is not here, so that it cannot end in a state, a preview or a record: the gateway puts it in.
 */
export type CertificateContent =
  | {
      readonly type: "managed";
      /** Lower case, sorted, each once. */
      readonly domains: readonly string[];
      /** Issued by the authority that is for tests. */
      readonly isStaging: boolean;
    }
  | {
      readonly type: "uploaded";
      /** The certificate and its chain, as text. */
      readonly pem: string;
      /** SHA-256 of the certificate itself, in hexadecimal digits with colons. */
      readonly fingerprint: string;
    };

/** One thing that exists, in the words of the spec and with its ids. */
export type UnitState = LoadBalancerState | RouteSpec | CertificateState;

/** A balancer as the cloud lists it. */
export interface LoadBalancerState {
  readonly kind: "load-balancer";
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly location: string;
  readonly networkZone: string;
  readonly algorithm: Algorithm;
  readonly labels: Readonly<Record<string, string>>;
  readonly deleteProtection: boolean;
  readonly publicInterface: boolean;
  readonly ipv4?: string;
  readonly ipv6?: string;
  /** At most one attachment exists at a time. */
  readonly network?: AttachmentState;
  /** Names of the public addresses, where they have one. */
  readonly rdns?: { readonly [V in IpVersion]?: string };
  readonly listeners: readonly ListenerSpec[];
  readonly targets: readonly TargetSpec[];
}

/** A certificate as the cloud lists it. */
export interface CertificateState extends CertificateSpec {
  readonly id: number;
}

export interface AttachmentState {
  readonly networkId: number;
  readonly ip: string;
  /** Range of the subnet that holds the address, where it is known. */
  readonly subnet?: string;
}

/** Metadata of a node as recorded in the stack's outputs, for `pulumi stack output nodes`. */
export interface NodeRecord {
  readonly providerId: string;
  readonly instanceType: string;
  readonly region: string;
  readonly zone?: string;
  readonly addresses: readonly string[];
}
