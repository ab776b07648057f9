/** Products of Hetzner, for tests. */
import type { Catalogue } from "../../controller/hcloud/api.ts";

export function aCatalogue(): Catalogue {
  return {
    types: [
      { name: "lb1", max_services: 5, max_targets: 25, deprecation: { unavailable_after: "2027-01-01T00:00:00Z" } },
      { name: "lb11", max_services: 5, max_targets: 25, deprecation: null },
      { name: "lb21", max_services: 15, max_targets: 75, deprecation: null },
      { name: "lb31", max_services: 30, max_targets: 150, deprecation: null },
    ],
    locations: [
      { name: "fsn1", network_zone: "eu-central" },
      { name: "nbg1", network_zone: "eu-central" },
      { name: "hel1", network_zone: "eu-central" },
      { name: "ash", network_zone: "us-east" },
    ],
  };
}
