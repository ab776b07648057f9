/** Objects of the Robot API, which manages dedicated servers, with the fields that Lotse reads. */

/** A dedicated server. */
export interface RobotServer {
  readonly server_number: number;
  readonly server_name: string;
  /** Null for a server without IPv4. */
  readonly server_ip: string | null;
  /** First address of the IPv6 network, without prefix length. Null or empty without IPv6. */
  readonly server_ipv6_net: string | null;
  readonly product: string;
  /** Data centre, e.g. `FSN1-DC14`. */
  readonly dc: string;
}

/** The known dedicated servers, or why they are not known. */
export type RobotInventory =
  | { readonly kind: "off" }
  | { readonly kind: "unreadable"; readonly reason: string }
  | { readonly kind: "listed"; readonly servers: readonly RobotServer[] };

/** Whether a dedicated server exists and runs. */
export type RobotState = "running" | "off" | "missing";
