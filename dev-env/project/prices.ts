/** What resources cost, from the API's price list. All prices include taxes. */

/** The billing period of a price. Hetzner charges every started hour, and never more than a month's price per month. */
export type Period = "hourly" | "monthly";

/** What the price list says about one type. */
interface Priced {
  readonly name?: string;
  readonly type?: string;
  readonly prices: readonly ({ readonly location: string } & {
    readonly [P in `price_${Period}`]?: { readonly gross: string };
  })[];
}

/** The price list, with the fields used here. */
export interface PriceList {
  readonly currency: string;
  readonly server_types: readonly Priced[];
  readonly load_balancer_types: readonly Priced[];
  readonly primary_ips: readonly Priced[];
}

/** How many resources of which type, and what to call them in a bill. */
export interface Order {
  readonly what: string;
  readonly count: number;
  readonly from: Exclude<keyof PriceList, "currency">;
  readonly type: string;
}

/** One line of a bill. */
export interface BillItem {
  readonly what: string;
  readonly count: number;
  /** For one of them; absent if it is not available in the location. */
  readonly price?: number;
}

/** The bill of orders in a location. Orders of nothing are left out. */
export function renderBill(
  orders: readonly Order[],
  list: PriceList,
  { location, period }: { readonly location: string; readonly period: Period },
): readonly BillItem[] {
  return orders
    .filter(({ count }) => count > 0)
    .map(({ what, count, from, type }) => {
      const row = list[from].find((it) => it.name === type || it.type === type);
      const gross = row?.prices.find((price) => price.location === location)?.[`price_${period}`]?.gross;
      return { what, count, ...(gross !== undefined && { price: Number(gross) }) };
    });
}

/** How to write a bill down. */
export interface BillStyle {
  readonly currency: string;
  /** What the sum is for, such as `started hour`. */
  readonly per: string;
  /** Digits after the decimal point of the parts. */
  readonly digits: number;
}

/**
 * A bill in one line, such as `12.45 EUR per month, taxes included: control plane (cx23) 4.15, 2 × worker (cx23) 8.30`. The
 * sum is without what has no known price.
 */
export function describeBill(items: readonly BillItem[], { currency, per, digits }: BillStyle): string {
  const total = items.reduce((sum, { count, price = 0 }) => sum + count * price, 0);
  const parts = items.map(({ what, count, price }) => {
    const amount = price === undefined ? "price unknown" : (count * price).toFixed(digits);
    return `${count > 1 ? `${count} × ` : ""}${what} ${amount}`;
  });
  return `${total.toFixed(2)} ${currency} per ${per}, taxes included: ${parts.join(", ")}`;
}

/** Server types that the location has. */
export function typesIn({ server_types }: PriceList, location: string): readonly string[] {
  const isThere = ({ prices }: Priced) => prices.some((price) => price.location === location);
  return server_types.filter(isThere).flatMap(({ name = [] }) => name);
}
