/** The stored form of every resource. */
import type { Labels } from "../api/labels.ts";

/**
 * Fields of every row. Rows have the field names of the API. What the API embeds (types, locations, members, users) is
 * stored as an id or name and added by the view of the resource, so that nothing is stored twice.
 */
export interface Resource {
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly created: string;
}

/** The status of a server. Hetzner has two more: `migrating` and `unknown`. */
export type ServerStatus = "running" | "initializing" | "starting" | "stopping" | "off" | "deleting" | "rebuilding";

/** The attachment of a server to a network. */
export interface ServerNetwork {
  readonly network: number;
  readonly ip: string;
  readonly alias_ips: readonly string[];
  readonly mac_address: string;
}

/** A server. `ipv4` and `ipv6` are ids of primary IPs; `backend` is its address for the data plane. */
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

/** A subnet. `vswitch_id` is null except for vSwitches. */
export interface Subnet {
  readonly type: "cloud" | "server" | "vswitch";
  readonly ip_range: string;
  readonly network_zone: string;
  readonly gateway: string;
  readonly vswitch_id: number | null;
}

/** A route of a network. */
export interface NetworkRoute {
  readonly destination: string;
  readonly gateway: string;
}

/** A network. The rows of its members refer to it. */
export interface NetworkRecord extends Resource {
  readonly ip_range: string;
  readonly subnets: readonly Subnet[];
  readonly routes: readonly NetworkRoute[];
  readonly protection: { readonly delete: boolean };
  readonly expose_routes_to_vswitch: boolean;
}

/** A health check, with times in seconds. `http` is set for the protocol http only. */
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

/** HTTP settings of a listener. `certificates` and `redirect_http` are set for https only. */
export interface ServiceHttp {
  readonly cookie_name: string;
  readonly cookie_lifetime: number;
  readonly timeout_idle: number;
  readonly sticky_sessions: boolean;
  readonly certificates?: readonly number[];
  readonly redirect_http?: boolean;
}

/** A listener. `http` is set for http and https only. */
export interface LoadBalancerService {
  readonly protocol: "tcp" | "http" | "https";
  readonly listen_port: number;
  readonly destination_port: number;
  readonly proxyprotocol: boolean;
  readonly health_check: HealthCheck;
  readonly http?: ServiceHttp;
}

/** A target. `server.ip` is the public address at the time it was added; private targets use the attachment. */
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

/** A public address. `id` is a primary IP, or null if the address belongs to the load balancer itself. */
export interface LoadBalancerAddress {
  readonly id: number | null;
  readonly ip: string | null;
  readonly blocked: boolean;
  readonly dns_ptr: string | null;
}

/** A load balancer, with type and location by name. */
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
  /** When private targets can use the attachment; with `attachLagMs`, later than the attachment itself. */
  readonly attachedAt: number;
}

/** A certificate. PEM, key and dates are null until it is issued; `status` is null if it was uploaded. */
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

/** A rule that allows traffic. */
export interface FirewallRule {
  readonly description: string | null;
  readonly direction: "in" | "out";
  readonly source_ips: readonly string[];
  readonly destination_ips: readonly string[];
  readonly protocol: "tcp" | "udp" | "icmp" | "esp" | "gre";
  readonly port: string | null;
}

/** What a firewall applies to. */
export type FirewallScope =
  | { readonly type: "server"; readonly server: { readonly id: number } }
  | { readonly type: "label_selector"; readonly label_selector: { readonly selector: string } };

/** A firewall. */
export interface FirewallRecord extends Resource {
  readonly rules: readonly FirewallRule[];
  readonly applied_to: readonly FirewallScope[];
}

/** A placement group. The rows of its servers refer to it. */
export interface PlacementGroupRecord extends Resource {
  readonly type: "spread";
}

/** An SSH key. The fingerprint is the MD5 hash of its blob. */
export interface SshKeyRecord extends Resource {
  readonly fingerprint: string;
  readonly public_key: string;
}

/** A public address that can outlive its server. IPv6 is a /64. */
export interface PrimaryIpRecord extends Resource {
  readonly type: "ipv4" | "ipv6";
  readonly ip: string;
  readonly location: string;
  readonly assignee: { readonly type: "server" | "load_balancer"; readonly id: number } | null;
  readonly auto_delete: boolean;
  readonly blocked: boolean;
  readonly dns_ptr: readonly { readonly ip: string; readonly dns_ptr: string }[];
  readonly protection: { readonly delete: boolean };
}

/** A name server from which a secondary zone is transferred. */
export interface PrimaryNameServer {
  readonly address: string;
  readonly port: number;
  readonly tsig_key?: string;
  readonly tsig_algorithm?: string;
}

/** A DNS zone. `primary_nameservers` is set for secondary zones only. */
export interface ZoneRecord extends Resource {
  readonly mode: "primary" | "secondary";
  readonly ttl: number;
  readonly protection: { readonly delete: boolean };
  readonly primary_nameservers?: readonly PrimaryNameServer[];
}

/** One record of a set. Its value identifies it. */
export interface DnsRecord {
  readonly value: string;
  readonly comment?: string;
}

/** The records of one name and type in a zone. Without a TTL, the zone's applies. */
export interface RrsetRecord extends Resource {
  readonly zone: number;
  readonly type: string;
  readonly ttl: number | null;
  readonly protection: { readonly change: boolean };
  readonly records: readonly DnsRecord[];
}
