import type { Labels } from "../api/labels.ts";

/**
 * Stored rows. They have the API's field names; what the API embeds (types, locations, members, users) is kept
 * here as an id or a name and put together by the resource's view, so nothing is stored twice.
 */
interface Resource {
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly created: string;
}

/** A reverse name of an address. */
export interface DnsPtr {
  readonly ip: string;
  readonly dns_ptr: string;
}

/** States a server passes through here; Hetzner knows two more, `migrating` and `unknown`. */
export type ServerStatus = "running" | "initializing" | "starting" | "stopping" | "off" | "deleting" | "rebuilding";

/** A server in a network. */
export interface ServerNetwork {
  readonly network: number;
  readonly ip: string;
  readonly alias_ips: readonly string[];
  readonly mac_address: string;
}

/** `ipv4` and `ipv6` are primary IP ids; `backend` is where the data plane finds the machine. */
export interface ServerRecord extends Resource {
  readonly status: ServerStatus;
  readonly server_type: string;
  readonly location: string;
  readonly image: number | null;
  readonly iso: number | null;
  readonly ipv4: number | null;
  readonly ipv6: number | null;
  readonly private_net: readonly ServerNetwork[];
  readonly placement_group: number | null;
  readonly rescue_enabled: boolean;
  readonly backup_window: string | null;
  readonly protection: { readonly delete: boolean; readonly rebuild: boolean };
  readonly primary_disk_size: number;
  readonly user_data: string;
  readonly backend: string;
}

/** A part of a network in which members get addresses; `vswitch_id` null but for vSwitches. */
export interface Subnet {
  readonly type: "cloud" | "server" | "vswitch";
  readonly ip_range: string;
  readonly network_zone: string;
  readonly gateway: string;
  readonly vswitch_id: number | null;
}

/** Where a network sends traffic for a destination. */
export interface NetworkRoute {
  readonly destination: string;
  readonly gateway: string;
}

/** A network; its members are found by their own rows. */
export interface NetworkRecord extends Resource {
  readonly ip_range: string;
  readonly subnets: readonly Subnet[];
  readonly routes: readonly NetworkRoute[];
  readonly protection: { readonly delete: boolean };
  readonly expose_routes_to_vswitch: boolean;
}

/** How a balancer looks at targets, times in seconds; `http` with protocol http only. */
export interface HealthCheck {
  readonly protocol: "tcp" | "http";
  readonly port: number;
  readonly interval: number;
  readonly timeout: number;
  readonly retries: number;
  readonly http?: {
    readonly domain: string | null;
    readonly path: string;
    readonly response: string;
    readonly status_codes: readonly string[];
    readonly tls: boolean;
  };
}

/** `certificates` and `redirect_http` exist on https listeners only. */
export interface ServiceHttp {
  readonly cookie_name: string;
  readonly cookie_lifetime: number;
  readonly timeout_idle: number;
  readonly sticky_sessions: boolean;
  readonly certificates?: readonly number[];
  readonly redirect_http?: boolean;
}

/** A listener; `http` on http and https only. */
export interface LoadBalancerService {
  readonly protocol: "tcp" | "http" | "https";
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol: boolean;
  readonly health_check: HealthCheck;
  readonly http?: ServiceHttp;
}

/** `server.ip` is the public address chosen when the target was added; private targets follow the attachment. */
export type TargetRecord =
  | {
      readonly type: "server";
      readonly server: { readonly id: number; readonly ip: string };
      readonly use_private_ip: boolean;
    }
  | {
      readonly type: "label_selector";
      readonly label_selector: { readonly selector: string };
      readonly use_private_ip: boolean;
    }
  | { readonly type: "ip"; readonly ip: { readonly ip: string } };

/** `id` is a primary IP, or null when the address belongs to the balancer itself. */
export interface LoadBalancerAddress {
  readonly id: number | null;
  readonly ip: string | null;
  readonly blocked: boolean;
  readonly dns_ptr: string | null;
}

/** A balancer; type and location by name. */
export interface LoadBalancerRecord extends Resource {
  readonly public_net: {
    readonly enabled: boolean;
    readonly ipv4: LoadBalancerAddress;
    readonly ipv6: LoadBalancerAddress;
  };
  readonly private_net: readonly { readonly network: number; readonly ip: string }[];
  readonly location: string;
  readonly load_balancer_type: string;
  readonly protection: { readonly delete: boolean };
  readonly services: readonly LoadBalancerService[];
  readonly targets: readonly TargetRecord[];
  readonly algorithm: { readonly type: "round_robin" | "least_connections" };
  /** When the network attachment becomes usable for private targets; later than the attachment only with a lag. */
  readonly attachedAt: number;
}

/** A certificate; PEM, key and dates are null until it is issued, `status` is null when uploaded. */
export interface CertificateRecord extends Resource {
  readonly type: "uploaded" | "managed";
  readonly certificate: string | null;
  readonly private_key: string | null;
  readonly not_valid_before: string | null;
  readonly not_valid_after: string | null;
  readonly domain_names: readonly string[];
  readonly fingerprint: string | null;
  readonly status: {
    readonly issuance: "pending" | "completed" | "failed";
    readonly renewal: "scheduled" | "pending" | "failed" | "unavailable";
    readonly error: { readonly code: string; readonly message: string } | null;
  } | null;
}

/** What a firewall lets pass. */
export interface FirewallRule {
  readonly description: string | null;
  readonly direction: "in" | "out";
  readonly source_ips: readonly string[];
  readonly destination_ips: readonly string[];
  readonly protocol: "tcp" | "udp" | "icmp" | "esp" | "gre";
  readonly port: string | null;
}

/** Whom a firewall protects. */
export type FirewallScope =
  | { readonly type: "server"; readonly server: { readonly id: number } }
  | { readonly type: "label_selector"; readonly label_selector: { readonly selector: string } };

/** A firewall; scopes by label are resolved when it is shown. */
export interface FirewallRecord extends Resource {
  readonly rules: readonly FirewallRule[];
  readonly applied_to: readonly FirewallScope[];
}

/** A placement group; its servers are found by their own rows. */
export interface PlacementGroupRecord extends Resource {
  readonly type: "spread";
}

/** An SSH key; the fingerprint is the MD5 of its blob. */
export interface SshKeyRecord extends Resource {
  readonly fingerprint: string;
  readonly public_key: string;
}

/** A public address that can outlive its server; IPv6 is a /64. */
export interface PrimaryIpRecord extends Resource {
  readonly type: "ipv4" | "ipv6";
  readonly ip: string;
  readonly location: string;
  readonly assignee: { readonly type: "server" | "load_balancer"; readonly id: number } | null;
  readonly auto_delete: boolean;
  readonly blocked: boolean;
  readonly dns_ptr: readonly DnsPtr[];
  readonly protection: { readonly delete: boolean };
}
