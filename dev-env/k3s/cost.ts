/** What an environment costs, and whether its server types are available. */
import { CloudError, ConfigError, messageOf } from "../../controller/diagnostics/errors.ts";
import { type BillItem, describeBill, type Order, type PriceList, renderBill, typesIn } from "../project/prices.ts";
import type { Environment } from "./environment.ts";
import type { Settings } from "./settings.ts";

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

/** Checks token and server types with the price list. Only a price list that cannot be read is no reason to stop. */
export async function checkedCost({ api, settings }: Environment): Promise<string> {
  const pricing = await api.prices().catch((error: unknown) => {
    if (error instanceof CloudError && (error.status === 401 || error.status === 403)) throw error;
    return messageOf(error);
  });
  if (typeof pricing === "string") return `prices cannot be read: ${pricing}`;
  checkTypes(settings, pricing);
  return describeCost(settings, pricing);
}

/** The bill in one line: `about 19.04 EUR per month while it is up, taxes included: control plane (cx23) 4.15, …`. */
export function describeCost(settings: Settings, prices: PriceList): string {
  const { currency } = prices;
  return `about ${describeBill(renderCost(settings, prices), { currency, per: "month while it is up", digits: 2 })}`;
}

/** Throws a ConfigError with every server type that is not available in the location. */
export function checkTypes(settings: Settings, prices: PriceList): void {
  const { location, controlPlaneType, workerType, pools } = settings;
  const available = typesIn(prices, location);
  const further = pools.slice(1).map(({ type }, index) => [`--pools[${index}].type`, type] as const);
  const own = { "--control-plane-type": controlPlaneType, "--worker-type": workerType };
  const mistakes = [...Object.entries(own), ...further]
    .filter(([, type]) => !available.includes(type))
    .map(([name, type]) => `${name}: "${type}" is not available in ${location}, which has ${available.join(", ")}`);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}
