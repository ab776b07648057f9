import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../../dev-env/k3s/config.ts";
import { describeCost, type Pricing, renderCost } from "../../../../dev-env/k3s/cost.ts";

const at = (location: string, gross: string) => ({ location, price_monthly: { gross } });
const PRICING: Pricing = {
  currency: "EUR",
  server_types: [
    { name: "cx23", prices: [at("hel1", "9.00"), at("fsn1", "4.0000000000")] },
    { name: "cx33", prices: [at("fsn1", "6.50")] },
  ],
  load_balancer_types: [{ name: "lb11", prices: [at("fsn1", "6.00")] }],
  primary_ips: [
    { type: "ipv4", prices: [at("fsn1", "0.60")] },
    { type: "ipv6", prices: [at("fsn1", "0.00")] },
  ],
};

describe("the bill", () => {
  it("has servers, addresses and the balancer, at the prices of the location", () => {
    const items = renderCost(loadConfig({ workers: "3", workerType: "cx33" }), PRICING);
    expect(items).toEqual([
      { what: "control plane (cx23)", count: 1, monthly: 4 },
      { what: "workers (cx33)", count: 3, monthly: 6.5 },
      { what: "IPv4 addresses", count: 4, monthly: 0.6 },
      { what: "balancer of the ingress (lb11)", count: 1, monthly: 6 },
    ]);
    // 4 + 3 × 6.5 + 4 × 0.6 + 6
    expect(describeCost(items, "EUR")).toBe(
      "about 31.90 EUR per month while it is up, taxes included: control plane (cx23) 4.00, 3 workers (cx33) 19.50, 4 IPv4 addresses 2.40, balancer of the ingress (lb11) 6.00",
    );
  });

  it("leaves out workers when there are none", () => {
    const items = renderCost(loadConfig({ workers: "0" }), PRICING);
    expect(items.map(({ what }) => what)).not.toContain("workers (cx23)");
  });

  it("says what it does not know the price of", () => {
    const items = renderCost(loadConfig({ workers: "0", location: "hel1" }), PRICING);
    expect(describeCost(items, "EUR")).toBe(
      "about 9.00 EUR per month while it is up, taxes included: control plane (cx23) 9.00, IPv4 addresses price unknown, balancer of the ingress (lb11) price unknown",
    );
  });
});
