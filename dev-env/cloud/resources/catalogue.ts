/** Hetzner's products: compact tables that are expanded into API objects. */
const NET_VAT = 1.19;
const EPOCH = "2024-04-25T13:15:00Z";

/** id, name, description, country, city, latitude, longitude, network zone. */
const LOCATION_ROWS = [
  [1, "fsn1", "Falkenstein DC Park 1", "DE", "Falkenstein", 50.47612, 12.370071, "eu-central"],
  [2, "nbg1", "Nuremberg DC Park 1", "DE", "Nuremberg", 49.452102, 11.076665, "eu-central"],
  [3, "hel1", "Helsinki DC Park 1", "FI", "Helsinki", 60.169855, 24.938379, "eu-central"],
  [4, "ash", "Ashburn, VA", "US", "Ashburn, VA", 39.045821, -77.487073, "us-east"],
  [5, "hil", "Hillsboro, OR", "US", "Hillsboro, OR", 45.54222, -122.951924, "us-west"],
  [6, "sin", "Singapore", "SG", "Singapore", 1.283333, 103.833333, "ap-southeast"],
] as const;

const EUROPE = ["fsn1", "nbg1", "hel1"];
const EVERYWHERE = LOCATION_ROWS.map(([, name]) => name);

/** id, name, category, cores, memory GB, disk GB, architecture, CPU, locations, EUR per month. */
const SERVER_TYPE_ROWS = [
  [114, "cx23", "cost_optimized", 2, 4, 40, "x86", "shared", EUROPE, 3.49],
  [115, "cx33", "cost_optimized", 4, 8, 80, "x86", "shared", EUROPE, 5.49],
  [116, "cx43", "cost_optimized", 8, 16, 160, "x86", "shared", EUROPE, 9.49],
  [117, "cx53", "cost_optimized", 16, 32, 320, "x86", "shared", EUROPE, 17.49],
  [45, "cax11", "cost_optimized", 2, 4, 40, "arm", "shared", EUROPE, 3.79],
  [93, "cax21", "cost_optimized", 4, 8, 80, "arm", "shared", EUROPE, 6.49],
  [94, "cax31", "cost_optimized", 8, 16, 160, "arm", "shared", EUROPE, 12.49],
  [108, "cpx12", "regular_purpose", 1, 2, 40, "x86", "shared", [...EUROPE, "sin"], 4.99],
  [109, "cpx22", "regular_purpose", 2, 4, 80, "x86", "shared", [...EUROPE, "sin"], 6.49],
  [110, "cpx32", "regular_purpose", 4, 8, 160, "x86", "shared", [...EUROPE, "sin"], 10.99],
  [22, "cpx11", "regular_purpose", 2, 2, 40, "x86", "shared", ["ash", "hil"], 4.49],
  [96, "ccx13", "general_purpose", 2, 8, 80, "x86", "dedicated", EVERYWHERE, 12.49],
  [97, "ccx23", "general_purpose", 4, 16, 160, "x86", "dedicated", EVERYWHERE, 24.49],
] as const;

/** id, name, connections, services, targets, certificates, EUR per month. */
const LOAD_BALANCER_TYPE_ROWS = [
  [1, "lb11", 10_000, 5, 25, 10, 5.39],
  [2, "lb21", 20_000, 15, 75, 25, 16.4],
  [3, "lb31", 40_000, 30, 150, 50, 32.9],
] as const;

/** id, name, flavour, version, architecture, deprecated since. */
const IMAGE_ROWS = [
  [67794396, "ubuntu-22.04", "ubuntu", "22.04", "x86", null],
  [103908130, "ubuntu-22.04", "ubuntu", "22.04", "arm", null],
  [114690387, "debian-12", "debian", "12", "x86", null],
  [114690389, "debian-12", "debian", "12", "arm", null],
  [161547269, "ubuntu-24.04", "ubuntu", "24.04", "x86", null],
  [161547270, "ubuntu-24.04", "ubuntu", "24.04", "arm", null],
  [310557660, "debian-13", "debian", "13", "x86", null],
  [310557661, "debian-13", "debian", "13", "arm", null],
  [45557056, "debian-11", "debian", "11", "x86", "2026-08-31T00:00:00Z"],
] as const;

const decimal = (value: number) => value.toFixed(8).padEnd(18, "0");

const price = (net: number) => ({ net: decimal(net), gross: decimal(net * NET_VAT) });

const prices = (locations: readonly string[], monthly: number) =>
  locations.map((location) => ({
    location,
    price_hourly: price(monthly / 624),
    price_monthly: price(monthly),
    included_traffic: 20 * 1024 ** 4,
    price_per_tb_traffic: price(1),
  }));

const locations = LOCATION_ROWS.map(([id, name, description, country, city, latitude, longitude, network_zone]) => ({
  ...{ id, name, description, country, city, latitude, longitude, network_zone },
}));

const locationId = (name: string) => locations.find((location) => location.name === name)?.id ?? 0;

const serverTypes = SERVER_TYPE_ROWS.map(
  ([id, name, category, cores, memory, disk, architecture, cpu_type, places, monthly]) => ({
    id,
    name,
    description: name.toUpperCase(),
    category,
    cores,
    memory,
    disk,
    storage_type: "local" as const,
    cpu_type,
    architecture,
    deprecated: false,
    deprecation: null,
    included_traffic: 0,
    prices: prices(places, monthly),
    locations: places.map((place) => ({
      id: locationId(place),
      name: place,
      deprecation: null,
      recommended: true,
      available: true,
    })),
  }),
);

const loadBalancerTypes = LOAD_BALANCER_TYPE_ROWS.map(
  ([id, name, max_connections, max_services, max_targets, max_assigned_certificates, monthly]) => ({
    id,
    name,
    description: name.toUpperCase(),
    max_connections,
    max_services,
    max_targets,
    max_assigned_certificates,
    deprecated: null,
    deprecation: null,
    prices: prices(EVERYWHERE, monthly),
  }),
);

const images = IMAGE_ROWS.map(([id, name, os_flavor, os_version, architecture, deprecated]) => ({
  id,
  type: "system" as const,
  status: "available" as const,
  name,
  description: name.replace("-", " ").replace(/^./, (first) => first.toUpperCase()),
  image_size: null,
  disk_size: 5,
  created: EPOCH,
  created_from: null,
  bound_to: null,
  os_flavor,
  os_version,
  architecture,
  rapid_deploy: true,
  protection: { delete: false },
  deprecated,
  deprecation: deprecated === null ? null : { announced: deprecated, unavailable_after: "2026-11-30T00:00:00Z" },
  deleted: null,
  labels: {},
}));

const isos = [
  {
    id: 122630,
    name: "alpine-virt-3.22.1-x86_64.iso",
    description: "Alpine Linux 3.22.1 (virt, x86_64)",
    type: "public" as const,
    deprecation: null,
    architecture: "x86" as const,
  },
];

const perLocation = (monthly: number) =>
  EVERYWHERE.map((location) => ({ location, price_hourly: price(monthly / 624), price_monthly: price(monthly) }));

const pricing = {
  currency: "EUR",
  vat_rate: "19.00",
  primary_ips: [
    { type: "ipv4", prices: perLocation(0.5) },
    { type: "ipv6", prices: perLocation(0) },
  ],
  floating_ip: { price_monthly: price(3) },
  floating_ips: [
    { type: "ipv4", prices: EVERYWHERE.map((location) => ({ location, price_monthly: price(3) })) },
    { type: "ipv6", prices: EVERYWHERE.map((location) => ({ location, price_monthly: price(1) })) },
  ],
  image: { price_per_gb_month: price(0.011) },
  volume: { price_per_gb_month: price(0.044) },
  server_backup: { percentage: "20.0000000000" },
  server_types: serverTypes.map((type) => ({ id: type.id, name: type.name, prices: type.prices })),
  load_balancer_types: loadBalancerTypes.map((type) => ({ id: type.id, name: type.name, prices: type.prices })),
};

/** The read-only resources in the API's shape. */
export const catalogue = { locations, serverTypes, loadBalancerTypes, images, isos, pricing };

/** A location. */
export type Location = (typeof locations)[number];
/** A server type. */
export type ServerType = (typeof serverTypes)[number];
/** A load balancer type, with its limits. */
export type LoadBalancerType = (typeof loadBalancerTypes)[number];
/** An image. */
export type Image = (typeof images)[number];

function byName<T extends { readonly name: string }>(rows: readonly T[], name: string): T {
  const row = rows.find((candidate) => candidate.name === name);
  if (!row) throw new Error(`not in the catalogue: ${name}`);
  return row;
}

/** The location of a row. It exists, because names are checked when rows are written. */
export const locationNamed = (name: string): Location => byName(locations, name);
/** The server type of a row. */
export const serverTypeNamed = (name: string): ServerType => byName(serverTypes, name);
/** The load balancer type of a row. */
export const loadBalancerTypeNamed = (name: string): LoadBalancerType => byName(loadBalancerTypes, name);
