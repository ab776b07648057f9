import { describe, it } from "vitest";
import { costOfFlipping, expectCheap, sufferTenant } from "../support/tenants.ts";

/** How long the hostile tenant is at work: a minute, or longer for people who ask for it. */
const SECONDS = Number(process.env.LOTSE_TENANT_SECONDS ?? 60);
const LIMIT = { timeout: (SECONDS + 300) * 1_000 };

describe("a hostile tenant for a longer time (hardening)", () => {
  it("hurts no other", LIMIT, async () => {
    await sufferTenant(SECONDS * 1_000);
  });

  it("that changes ten Services all the time costs few requests, and delays no other", LIMIT, async () => {
    expectCheap(await costOfFlipping(SECONDS * 1_000));
  });
});
