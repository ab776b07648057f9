import { expect, it } from "vitest";
import { type Pricing, pricesOf } from "../../../../controller/hcloud/prices.ts";

const priced = (location: string, net: string) => ({ location, price_monthly: { net } });
const PRICING: Pricing = {
  currency: "EUR",
  load_balancer_types: [
    { name: "lb11", prices: [priced("fsn1", "5.3900000000"), priced("ash", "7.0000000000")] },
    { name: "lb21", prices: [priced("fsn1", "not a number")] },
  ],
};

it.each([
  ["a type in a location", "lb11", "fsn1", 5.39],
  ["the same elsewhere", "lb11", "ash", 7],
  ["a place that is not known yet: the highest", "lb11", undefined, 7],
  ["a location without a price", "lb11", "moon", undefined],
  ["a type without a price", "lb99", "fsn1", undefined],
  ["a price that is none", "lb21", "fsn1", undefined],
])("looks up the price of a load balancer: %s", (_, type, location, expected) => {
  expect(pricesOf(PRICING).balancer(type, location)).toBe(expected);
});
