/** Objects of the Hetzner API, with the fields that Lotse reads. */

export interface Server {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly server_type: { readonly name: string };
  readonly location: { readonly name: string; readonly network_zone: string };
  readonly public_net: {
    readonly ipv4: { readonly ip: string } | null;
    /** A /64 in CIDR form. */
    readonly ipv6: { readonly ip: string } | null;
  };
  readonly private_net: readonly {
    readonly network: number;
    readonly ip: string;
    readonly alias_ips?: readonly string[] | null;
  }[];
}

export interface Network {
  readonly id: number;
  readonly name: string;
  readonly ip_range: string;
  readonly subnets: readonly {
    readonly ip_range: string;
    readonly network_zone: string;
    /** `vswitch` has addresses for dedicated servers only. */
    readonly type?: string;
  }[];
  readonly routes: readonly { readonly destination: string; readonly gateway: string }[];
}

/** Load balancer types and locations that the provider offers. */
export interface Catalogue {
  readonly types: readonly BalancerType[];
  readonly locations: readonly { readonly name: string; readonly network_zone: string }[];
}

export interface BalancerType {
  readonly name: string;
  readonly max_services: number;
  readonly max_targets: number;
  readonly deprecation?: { readonly unavailable_after: string } | null;
}

export interface LoadBalancer {
  readonly id: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly location: { readonly name: string; readonly network_zone: string };
  readonly load_balancer_type: { readonly name: string };
  readonly algorithm: { readonly type: "round_robin" | "least_connections" };
  readonly protection: { readonly delete: boolean };
  readonly public_net: {
    readonly enabled: boolean;
    readonly ipv4: { readonly ip: string | null; readonly dns_ptr?: string | null };
    readonly ipv6: { readonly ip: string | null; readonly dns_ptr?: string | null };
  };
  readonly private_net: readonly { readonly network: number; readonly ip: string }[];
  readonly services: readonly LoadBalancerService[];
  readonly targets: readonly LoadBalancerTarget[];
}

export interface LoadBalancerService {
  readonly protocol: "tcp" | "http" | "https";
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol: boolean;
  readonly http?: {
    readonly cookie_name: string;
    readonly cookie_lifetime: number;
    readonly timeout_idle?: number;
    readonly sticky_sessions: boolean;
    readonly certificates?: readonly number[];
    readonly redirect_http?: boolean;
  };
  readonly health_check: {
    readonly protocol: "tcp" | "http";
    readonly port: number;
    readonly interval: number;
    readonly timeout: number;
    readonly retries: number;
    readonly http?: {
      readonly domain?: string | null;
      readonly path: string;
      readonly response?: string;
      readonly tls?: boolean;
      readonly status_codes?: readonly string[];
    };
  };
}

export type LoadBalancerTarget = { readonly health_status?: readonly { readonly status: string }[] } & (
  | { readonly type: "server"; readonly server: { readonly id: number }; readonly use_private_ip: boolean }
  | { readonly type: "ip"; readonly ip: { readonly ip: string } }
  | { readonly type: "label_selector"; readonly label_selector: { readonly selector: string } }
);

export interface Certificate {
  readonly id: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly type: "uploaded" | "managed";
  /** PEM with the chain; null until a managed certificate is issued. */
  readonly certificate: string | null;
  readonly created: string;
  readonly domain_names: readonly string[];
  /** Managed certificates only. */
  readonly status: {
    readonly issuance: "pending" | "completed" | "failed";
    readonly renewal: "scheduled" | "pending" | "failed" | "unavailable";
    readonly error?: { readonly code: string; readonly message: string } | null;
  } | null;
}
