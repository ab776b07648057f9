/** What an environment costs per month, from the cloud's own price list. */
import type { EnvironmentConfig } from "./config.ts";

interface Priced {
  readonly name?: string;
  readonly type?: string;
  readonly prices: readonly { readonly location: string; readonly price_monthly: { readonly gross: string } }[];
}

/** The price list, as far as we look at it. */
export interface Pricing {
  readonly currency: string;
  readonly server_types: readonly Priced[];
  readonly load_balancer_types: readonly Priced[];
  readonly primary_ips: readonly Priced[];
}

/** One line of the bill. */
export interface CostItem {
  readonly what: string;
  readonly count: number;
  /** Gross, for one of them; absent when it is not sold in that location. */
  readonly monthly?: number;
}

/** The balancer that the ingress gets. */
const BALANCER_TYPE = "lb11";

/** The bill of an environment, and what of it the price list does not know. */
export function renderCost(config: EnvironmentConfig, pricing: Pricing): readonly CostItem[] {
  const { location, controlPlaneType, workerType, workers } = config;
  const item = (what: string, count: number, list: readonly Priced[], name: string): CostItem => {
    const found = list.find((entry) => entry.name === name || entry.type === name);
    const gross = found?.prices.find((price) => price.location === location)?.price_monthly.gross;
    return { what, count, ...(gross !== undefined && { monthly: Number(gross) }) };
  };
  return [
    item(`control plane (${controlPlaneType})`, 1, pricing.server_types, controlPlaneType),
    item(`workers (${workerType})`, workers, pricing.server_types, workerType),
    item("IPv4 addresses", 1 + workers, pricing.primary_ips, "ipv4"),
    item(`balancer of the ingress (${BALANCER_TYPE})`, 1, pricing.load_balancer_types, BALANCER_TYPE),
  ].filter(({ count }) => count > 0);
}

/** The bill in one line: `about 19.04 EUR per month (control plane (cx23) 4.15, …)`. */
export function describeCost(items: readonly CostItem[], currency: string): string {
  const total = items.reduce((sum, { count, monthly = 0 }) => sum + count * monthly, 0);
  const parts = items.map(({ what, count, monthly }) => {
    const price = monthly === undefined ? "price unknown" : (count * monthly).toFixed(2);
    return `${count > 1 ? `${count} ` : ""}${what} ${price}`;
  });
  return `about ${total.toFixed(2)} ${currency} per month while it is up, taxes included: ${parts.join(", ")}`;
}
