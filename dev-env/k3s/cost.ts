/** What an environment costs, from the API's price list, which also says where a server type is available. */
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import type { SettingName, Settings } from "./settings.ts";

interface Priced {
  readonly name?: string;
  readonly type?: string;
  readonly prices: readonly { readonly location: string; readonly price_monthly: { readonly gross: string } }[];
}

/** The price list, with the fields used here. */
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
  /** Gross, for one of them; absent if it is not available in the location. */
  readonly monthly?: number;
}

/** Type of the load balancers of ingress and API. */
const BALANCER_TYPE = "lb11";

/** The monthly bill of an environment. */
export function renderCost(settings: Settings, pricing: Pricing): readonly CostItem[] {
  const { location, controlPlanes, controlPlaneType, pools } = settings;
  const item = (what: string, count: number, list: readonly Priced[], name: string): CostItem => {
    const found = list.find((entry) => entry.name === name || entry.type === name);
    const gross = found?.prices.find((price) => price.location === location)?.price_monthly.gross;
    return { what, count, ...(gross !== undefined && { monthly: Number(gross) }) };
  };
  const servers = controlPlanes + pools.reduce((sum, { count }) => sum + count, 0);
  return [
    item(`control plane (${controlPlaneType})`, controlPlanes, pricing.server_types, controlPlaneType),
    ...pools.map(({ name, count, type }) => item(`${name} (${type})`, count, pricing.server_types, type)),
    item("IPv4 address", servers, pricing.primary_ips, "ipv4"),
    item(`load balancer (${BALANCER_TYPE})`, controlPlanes > 1 ? 2 : 1, pricing.load_balancer_types, BALANCER_TYPE),
  ].filter(({ count }) => count > 0);
}

/** The bill in one line: `about 19.04 EUR per month while it is up, taxes included: control plane (cx23) 4.15, …`. */
export function describeCost(items: readonly CostItem[], currency: string): string {
  const total = items.reduce((sum, { count, monthly = 0 }) => sum + count * monthly, 0);
  const parts = items.map(({ what, count, monthly }) => {
    const price = monthly === undefined ? "price unknown" : (count * monthly).toFixed(2);
    return `${count > 1 ? `${count} × ` : ""}${what} ${price}`;
  });
  return `about ${total.toFixed(2)} ${currency} per month while it is up, taxes included: ${parts.join(", ")}`;
}

/** Throws a ConfigError with every server type that is not available in the location. */
export function checkTypes(settings: Settings, pricing: Pricing, nameOf: (name: SettingName) => string): void {
  const { location, controlPlaneType, workerType, pools } = settings;
  const available = pricing.server_types
    .filter(({ prices }) => prices.some((price) => price.location === location))
    .flatMap(({ name = [] }) => name);
  const wanted: readonly (readonly [string, string])[] = [
    [nameOf("controlPlaneType"), controlPlaneType],
    [nameOf("workerType"), workerType],
    ...pools.slice(1).map(({ type }, index) => [`${nameOf("pools")}[${index}].type`, type] as const),
  ];
  const mistakes = wanted
    .filter(([, type]) => !available.includes(type))
    .map(([name, type]) => `${name}: "${type}" is not available in ${location}, which has ${available.join(", ")}`);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}
