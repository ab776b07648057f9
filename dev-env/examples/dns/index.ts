/** DNS names of a cluster's Services, from the addresses in the outputs of the cluster's stack. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";

/** The part of the outputs that is used here: docs/reference/outputs.md. */
type Services = Readonly<Record<string, { readonly ipv4?: string; readonly ipv6?: string }>>;

const config = new pulumi.Config();
/** A zone that exists. */
const zone = config.require("zone");
/** Services by name in the zone: `{ "www": "default/web" }`. */
const names = config.requireObject<Readonly<Record<string, string>>>("names");

const cluster = new pulumi.StackReference(config.get("cluster") ?? "organization/lotse/kubernetes");
const services = cluster.requireOutput("services") as pulumi.Output<Services>;

for (const [name, key] of Object.entries(names)) {
  const [a, aaaa] = [[{ value: addressOf(key, "ipv4") }], [{ value: addressOf(key, "ipv6") }]];
  new hcloud.ZoneRrset(`${name}/A`, { zone, name, type: "A", ttl: 300, records: a });
  new hcloud.ZoneRrset(`${name}/AAAA`, { zone, name, type: "AAAA", ttl: 300, records: aaaa });
}

/** Fails without an address: the records of a Service that has no load balancer for a moment are kept. */
function addressOf(key: string, family: "ipv4" | "ipv6"): pulumi.Output<string> {
  return services.apply((all) => {
    const address = all[key]?.[family];
    if (address === undefined) throw new pulumi.RunError(`Service ${key} has no load balancer with a public address`);
    return address;
  });
}
