/** What a run costs, from the API's price list. Hetzner bills every started hour of every server and load balancer. */

interface Priced {
  readonly name?: string;
  readonly type?: string;
  readonly prices: readonly { readonly location: string; readonly price_hourly: { readonly gross: string } }[];
}

/** The price list, with the fields used here. */
export interface PriceList {
  readonly currency: string;
  readonly server_types: readonly Priced[];
  readonly load_balancer_types: readonly Priced[];
  readonly primary_ips: readonly Priced[];
}

/** Number of servers. */
export const SERVERS = 2;
/** Load balancers that a whole run creates, by type: each counts for a started hour. */
export const BALANCERS: Readonly<Record<string, number>> = { lb11: 6, lb21: 1 };

/** What a run creates. */
export interface Order {
  readonly location: string;
  readonly serverType: string;
  readonly servers: number;
  /** Number of load balancers by type. */
  readonly balancers: Readonly<Record<string, number>>;
}

/**
 * The bill in one line: `at most 0.15 EUR for each started hour, taxes included: 2 × server (cx23) 0.0133, …`. Throws if
 * the server type is not available in the location.
 */
export function describePrice(order: Order, list: PriceList): string {
  const { location, serverType, servers } = order;
  const hourly = (rows: readonly Priced[], name: string) => {
    const row = rows.find((it) => it.name === name || it.type === name);
    return row?.prices.find((price) => price.location === location)?.price_hourly.gross;
  };
  if (hourly(list.server_types, serverType) === undefined)
    throw new Error(
      `server type ${serverType} is not available in ${location}: choose others with --server-type and --location`,
    );
  const items = [
    { what: `server (${serverType})`, count: servers, price: hourly(list.server_types, serverType) },
    { what: "IPv4 address", count: servers, price: hourly(list.primary_ips, "ipv4") },
    ...Object.entries(order.balancers).map(([type, count]) => {
      return { what: `load balancer (${type})`, count, price: hourly(list.load_balancer_types, type) };
    }),
  ].map(({ what, count, price }) => ({ text: `${count} × ${what}`, amount: count * Number(price ?? Number.NaN) }));
  const total = items.reduce((sum, { amount }) => sum + (Number.isNaN(amount) ? 0 : amount), 0);
  const parts = items.map(
    ({ text, amount }) => `${text} ${Number.isNaN(amount) ? "price unknown" : amount.toFixed(4)}`,
  );
  return `at most ${total.toFixed(2)} ${list.currency} per started hour, taxes included: ${parts.join(", ")}`;
}
