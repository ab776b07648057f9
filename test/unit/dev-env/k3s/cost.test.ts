import { describe, expect, it } from "vitest";
import { checkTypes, describeCost, renderCost } from "../../../../dev-env/k3s/cost.ts";
import { type Choices, parseSettings } from "../../../../dev-env/k3s/settings.ts";
import type { PriceList } from "../../../../dev-env/project/prices.ts";

const load = (choices: Choices) => parseSettings(choices);
const at = (location: string, gross: string) => ({ location, price_monthly: { gross } });
const PRICING: PriceList = {
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
  it("has servers, addresses and the load balancer, at the prices of the location", () => {
    const settings = load({ workers: "3", workerType: "cx33" });
    const items = renderCost(settings, PRICING);
    expect(items).toEqual([
      { what: "control plane (cx23)", count: 1, price: 4 },
      { what: "worker (cx33)", count: 3, price: 6.5 },
      { what: "IPv4 address", count: 4, price: 0.6 },
      { what: "load balancer (lb11)", count: 1, price: 6 },
    ]);
    // 4 + 3 × 6.5 + 4 × 0.6 + 6
    expect(describeCost(settings, PRICING)).toBe(
      "about 31.90 EUR per month while it is up, taxes included: control plane (cx23) 4.00, 3 × worker (cx33) 19.50, 4 × IPv4 address 2.40, load balancer (lb11) 6.00",
    );
  });

  it("leaves out workers when there are none", () => {
    const items = renderCost(load({ workers: "0" }), PRICING);
    expect(items.map(({ what }) => what)).not.toContain("worker (cx23)");
  });

  it("says what it does not know the price of", () => {
    const settings = load({ workers: "0", location: "hel1" });
    expect(describeCost(settings, PRICING)).toBe(
      "about 9.00 EUR per month while it is up, taxes included: control plane (cx23) 9.00, IPv4 address price unknown, load balancer (lb11) price unknown",
    );
  });

  it("has every pool, and a second load balancer for several control planes", () => {
    const items = renderCost(
      load({ controlPlanes: "3", workers: "0", pools: "[{name: gpu, count: 1, type: cx33}]" }),
      PRICING,
    );
    expect(items.map(({ what, count }) => `${count} ${what}`)).toEqual([
      "3 control plane (cx23)",
      "1 gpu (cx33)",
      "4 IPv4 address",
      "2 load balancer (lb11)",
    ]);
  });

  it("names every setting with a server type that the location does not have", () => {
    const check = (choices: Choices) => () => checkTypes(load(choices), PRICING);
    expect(check({})).not.toThrow();
    expect(check({ workerType: "cx99", pools: "[{name: gpu, count: 1, type: cx98}]" })).toThrow(
      '--worker-type: "cx99" is not available in fsn1, which has cx23, cx33\n--pools[0].type: "cx98" is not available in fsn1, which has cx23, cx33',
    );
    expect(check({ location: "hel1", workerType: "cx33" })).toThrow(
      /^--worker-type: "cx33" is not available in hel1, which has cx23$/,
    );
  });
});
