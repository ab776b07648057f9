import { describe, it } from "vitest";
import { sufferTenant } from "../support/tenants.ts";

describe("a hostile tenant (hardening)", () => {
  it("hurts no other: Services, Nodes and routes of others are served in time", { timeout: 240_000 }, async () => {
    await sufferTenant(20_000);
  });
});
