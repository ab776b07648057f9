/** Monthly prices from the API's price list. Net prices, because tax depends on the customer. */

/** The price list, with the fields that Lotse reads. */
export interface Pricing {
  readonly currency: string;
  readonly load_balancer_types: readonly {
    readonly name: string;
    readonly prices: readonly { readonly location: string; readonly price_monthly: { readonly net: string } }[];
  }[];
}

/** Looks up prices. */
export interface Prices {
  readonly currency: string;
  /**
   * Monthly price of a load balancer. Without a location it is the highest price of all locations, so that the actual one is
   * never higher. Undefined for an unknown type or location.
   */
  balancer(type: string, location?: string): number | undefined;
}

/** Prices from the API's price list. */
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
