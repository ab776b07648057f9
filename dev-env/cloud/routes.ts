/** All routes of the API. */
import type { Route } from "./api/route.ts";
import { certificateRoutes } from "./resources/certificates.ts";
import { firewallRoutes } from "./resources/firewalls.ts";
import { loadBalancerRoutes } from "./resources/load-balancers.ts";
import { metricsRoutes } from "./resources/metrics.ts";
import { networkRoutes } from "./resources/networks.ts";
import { placementGroupRoutes } from "./resources/placement-groups.ts";
import { primaryIpRoutes } from "./resources/primary-ips.ts";
import { readOnlyRoutes } from "./resources/read-only.ts";
import { serverActionRoutes } from "./resources/server-actions.ts";
import { serverRoutes } from "./resources/servers.ts";
import { sshKeyRoutes } from "./resources/ssh-keys.ts";
import { rrsetRoutes } from "./resources/zone-rrsets.ts";
import { zoneRoutes } from "./resources/zones.ts";

/** The complete API. */
export const routes: readonly Route[] = [
  ...readOnlyRoutes,
  ...serverRoutes,
  ...serverActionRoutes,
  ...networkRoutes,
  ...loadBalancerRoutes,
  ...certificateRoutes,
  ...placementGroupRoutes,
  ...firewallRoutes,
  ...sshKeyRoutes,
  ...primaryIpRoutes,
  ...metricsRoutes,
  ...zoneRoutes,
  ...rrsetRoutes,
];
