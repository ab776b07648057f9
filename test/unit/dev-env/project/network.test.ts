import { describe, expect, it } from "vitest";
import type { ProjectApi } from "../../../../dev-env/project/api.ts";
import { checkNetwork } from "../../../../dev-env/project/network.ts";

const NETWORK = { id: 1, name: "dev-network", ip_range: "10.0.0.0/8", subnets: [{ network_zone: "eu-central" }] };
const projectOf = (...networks: readonly object[]) => ({ list: async () => networks }) as unknown as ProjectApi;
const check = (network: string, zone: string, project = projectOf(NETWORK)) =>
  checkNetwork(project, "lotse-dev-env=dev", { network, zone });

describe("a network", () => {
  it("may be absent, or as the settings say", async () => {
    await check("10.0.0.0/8", "eu-central");
    await check("192.168.0.0/16", "us-east", projectOf());
    await check("10.0.0.0/8", "us-east", projectOf({ ...NETWORK, subnets: [] }));
  });

  it("keeps its range and its zone while it exists", async () => {
    await expect(check("192.168.0.0/16", "us-east")).rejects.toMatchObject({
      mistakes: [
        '--network: 10.0.0.0/8 of dev-network cannot be changed while it exists: run "npm run dev-env down" first',
        '--location: the zone eu-central of dev-network cannot be changed while it exists: run "npm run dev-env down" first',
      ],
    });
  });
});
