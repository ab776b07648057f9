/** What an environment costs, and whether its server types are available. */
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import {
  type BillItem,
  describeItems,
  type Order,
  type PriceList,
  renderBill,
  totalOf,
  typesIn,
} from "../project/prices.ts";
import type { SettingName, Settings } from "./settings.ts";

/** Type of the load balancers of ingress and API. */
const BALANCER_TYPE = "lb11";

/** The monthly bill of an environment. */
export function renderCost(settings: Settings, prices: PriceList): readonly BillItem[] {
  const { location, controlPlanes, controlPlaneType, pools } = settings;
  const groups = [{ name: "control plane", count: controlPlanes, type: controlPlaneType }, ...pools];
  const servers = groups.reduce((sum, { count }) => sum + count, 0);
  const balancers = { what: `load balancer (${BALANCER_TYPE})`, count: controlPlanes > 1 ? 2 : 1, type: BALANCER_TYPE };
  const orders: readonly Order[] = [
    ...groups.map(({ name, count, type }): Order => ({ what: `${name} (${type})`, count, from: "server_types", type })),
    { what: "IPv4 address", count: servers, from: "primary_ips", type: "ipv4" },
    { ...balancers, from: "load_balancer_types" },
  ];
  return renderBill(orders, prices, { location, period: "monthly" });
}

/** The bill in one line: `about 19.04 EUR per month while it is up, taxes included: control plane (cx23) 4.15, …`. */
export function describeCost(items: readonly BillItem[], currency: string): string {
  const total = `${totalOf(items).toFixed(2)} ${currency}`;
  return `about ${total} per month while it is up, taxes included: ${describeItems(items, 2)}`;
}

/** Throws a ConfigError with every server type that is not available in the location. */
export function checkTypes(settings: Settings, prices: PriceList, nameOf: (name: SettingName) => string): void {
  const { location, controlPlaneType, workerType, pools } = settings;
  const available = typesIn(prices, location);
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
