/** What things cost in a month, from the API's own price list. Net prices: tax depends on who asks. */

/** The part of the price list that we read. */
export interface Pricing {
  readonly currency: string;
  readonly load_balancer_types: readonly PricedType[];
}

interface PricedType {
  readonly name: string;
  readonly prices: readonly { readonly location: string; readonly price_monthly: { readonly net: string } }[];
}

export interface Prices {
  readonly currency: string;
  /**
   * A balancer's price for a month. Where only its network zone is known, the highest of all locations: nobody should pay
   * more than they were told. Nothing for a type or place that is not in the list.
   */
  balancer(type: string, location?: string): number | undefined;
}

export function pricesOf({ currency, load_balancer_types: types }: Pricing): Prices {
  return {
    currency,
    balancer: (type, location) => {
      const all = types.find(({ name }) => name === type)?.prices ?? [];
      const here = all.filter((price) => location === undefined || price.location === location);
      const amounts = here.map(({ price_monthly }) => Number(price_monthly.net)).filter(Number.isFinite);
      return amounts.length > 0 ? Math.max(...amounts) : undefined;
    },
  };
}
