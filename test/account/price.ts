/** What a run costs. Hetzner bills every started hour of every server and load balancer. */
import { describeBill, type Order, type PriceList, renderBill, typesIn } from "../../dev-env/project/prices.ts";

/** Number of servers. */
export const SERVERS = 2;
/** Load balancers that a whole run creates, by type: each counts for a started hour. */
const BALANCERS: Readonly<Record<string, number>> = { lb11: 6, lb21: 1 };

/**
 * The bill in one line: `at most 0.15 EUR per started hour, taxes included: 2 × server (cx23) 0.0133, …`. Throws if the
 * server type is not available in the location.
 */
export function describePrice(
  { location, serverType }: { readonly location: string; readonly serverType: string },
  prices: PriceList,
): string {
  if (!typesIn(prices, location).includes(serverType))
    throw new Error(
      `server type ${serverType} is not available in ${location}: choose others with --server-type and --location`,
    );
  const orders: readonly Order[] = [
    { what: `server (${serverType})`, count: SERVERS, from: "server_types", type: serverType },
    { what: "IPv4 address", count: SERVERS, from: "primary_ips", type: "ipv4" },
    ...Object.entries(BALANCERS).map(([type, count]): Order => {
      return { what: `load balancer (${type})`, count, from: "load_balancer_types", type };
    }),
  ];
  const items = renderBill(orders, prices, { location, period: "hourly" });
  return `at most ${describeBill(items, { currency: prices.currency, per: "started hour", digits: 4 })}`;
}
