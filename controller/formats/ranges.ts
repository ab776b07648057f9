/** IPv4 ranges. */
import ipaddr from "ipaddr.js";

/** Whether an IPv4 address is in a CIDR; false when either is malformed. */
export function isInRange(ip: string, range: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(ip) || !ipaddr.IPv4.isValidCIDRFourPartDecimal(range)) return false;
  return ipaddr.IPv4.parse(ip).match(ipaddr.IPv4.parseCIDR(range));
}
