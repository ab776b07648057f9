/** Random requests to the simulated cloud. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { routes } from "../../dev-env/cloud/routes.ts";
import { brokenInvariants } from "./invariants.ts";
import { violationOf } from "./openapi.ts";

const REQUESTS = 10_000;
/** FUZZ_SEED sets another seed: `FUZZ_SEED=1 npx vitest run …`. */
const SEED = Number(process.env.FUZZ_SEED ?? 4711);

let cloud: Cloud;

beforeAll(async () => {
  cloud = await startCloud({ rateLimit: "off", firstId: 1 });
});

afterAll(() => cloud?.stop());

/** Mostly valid, because one invalid field rejects the whole request. */
function mostly<T>(good: readonly T[], ...bad: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 40, arbitrary: fc.constantFrom(...good) }, fc.constantFrom(...bad, -1, "", null, [], 1e20));
}

/** A placeholder for the id of an existing resource; see `resolve`. */
const ref = (kind: string) =>
  fc.oneof(
    { weight: 30, arbitrary: fc.nat(9999).map((n) => `$${kind}:${n}`) },
    fc.constantFrom(0, 7, -1, 1.5, "x", null),
  );

const label = mostly(["a", "b", "role", "env/x"], "hetzner.cloud/no", "-bad", "x".repeat(64)).map(String);
const labels = fc.dictionary(label, mostly(["web", "db", "", "1"], "not ok").map(String), { maxKeys: 3 });
const selector = mostly(["role=web", "a", "!a", "role in (web,db)", "a!=1", "a notin (x)"], "=", "(", "a=b,,");
const range = mostly(["10.0.0.0/16", "10.0.1.0/24", "10.0.2.0/24", "10.7.0.0/24"], "8.8.8.0/24", "10.0.0.1/8", "x");
const ip = mostly(["10.0.1.1", "10.0.1.2", "10.0.2.9", "203.0.113.7", "2001:db8::1"], "1.2.3", "300.1.1.1");
const port = mostly([80, 443, 8080, 1, 2, 3, 4, 5], 0, 65_536);
const name = fc.oneof(
  { weight: 20, arbitrary: fc.stringMatching(/^[a-z]{2,9}$/) },
  mostly(["a", "b"], " x", "x".repeat(140)),
);

const server = fc.record({ id: ref("servers") });
const target = fc.constantFrom("server", "label_selector", "ip").chain((type) =>
  fc.record({
    type: fc.constant(type),
    [type]: type === "server" ? server : type === "ip" ? fc.record({ ip }) : fc.record({ selector }),
    ...(type === "ip" ? {} : { use_private_ip: fc.boolean() }),
  }),
);
const seconds = mostly([5, 10, 15], 1, 61);
const healthCheck = fc.record(
  { protocol: mostly(["tcp", "http"], "https"), port, interval: seconds, timeout: seconds, retries: mostly([1, 3], 0) },
  { requiredKeys: [] },
);
const http = fc.record(
  {
    cookie_name: name,
    certificates: fc.array(ref("certificates"), { minLength: 1, maxLength: 3 }),
    redirect_http: fc.boolean(),
  },
  { requiredKeys: ["certificates"] },
);
const service = fc.record(
  {
    protocol: mostly(["tcp", "http", "https"], "udp"),
    listen_port: port,
    destination_port: port,
    proxyprotocol: fc.boolean(),
    health_check: healthCheck,
    http,
  },
  { requiredKeys: ["protocol", "listen_port", "destination_port", "http"] },
);
const subnet = fc.record(
  {
    type: mostly(["cloud", "server"], "vswitch"),
    network_zone: mostly(["eu-central"], "us-east", "x"),
    ip_range: range,
  },
  { requiredKeys: ["type", "network_zone"] },
);
const route = fc.record({ destination: range, gateway: ip });
const scope = fc
  .constantFrom("server", "label_selector")
  .chain((type) =>
    fc.record({ type: fc.constant(type), [type]: type === "server" ? server : fc.record({ selector }) }),
  );
const rule = fc.record({
  direction: mostly(["in"], "out"),
  protocol: mostly(["tcp"], "icmp"),
  port: mostly(["80", "1-2"], "9-1"),
  source_ips: fc.array(range, { minLength: 1, maxLength: 3 }),
});

/** All fields of all requests, with values that are often valid. */
const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  name,
  labels,
  ip_range: range,
  ip,
  network: ref("networks"),
  location: mostly(["fsn1", "nbg1", "hel1"], "nowhere"),
  load_balancer_type: mostly(["lb11", "lb21", 1], "lb99"),
  server_type: mostly(["cx23", "cpx22", "cax11", 114], "nope"),
  image: mostly(["ubuntu-24.04", "debian-12"], 1),
  type: mostly(["spread", "ipv4", "ipv6", "managed", "cloud", "round_robin", "least_connections"], "uploaded"),
  services: fc.array(service, { maxLength: 2 }),
  targets: fc.array(target, { maxLength: 2 }),
  subnets: fc.array(subnet, { maxLength: 1 }),
  routes: fc.array(route, { maxLength: 1 }),
  networks: fc.array(ref("networks"), { maxLength: 2 }),
  firewalls: fc.array(fc.record({ firewall: ref("firewalls") }), { maxLength: 2 }),
  network_zone: mostly(["eu-central"], "us-east", "nowhere"),
  protocol: mostly(["tcp", "http"], "https"),
  listen_port: port,
  destination_port: port,
  health_check: healthCheck,
  destination: range,
  gateway: ip,
  alias_ips: fc.array(ip, { maxLength: 2 }),
  delete: fc.boolean(),
  rebuild: fc.boolean(),
  rules: fc.array(rule, { maxLength: 3 }),
  apply_to: fc.array(scope, { maxLength: 2 }),
  remove_from: fc.array(scope, { maxLength: 2 }),
  placement_group: ref("placement_groups"),
  assignee_id: ref("servers"),
  assignee_type: mostly(["server"], "load_balancer"),
  domain_names: fc.array(mostly(["a.example.com", "x.fail.example"], "no"), { minLength: 1, maxLength: 2 }),
  public_net: fc.record({ enable_ipv4: fc.boolean(), enable_ipv6: fc.boolean() }, { requiredKeys: [] }),
  start_after_create: fc.boolean(),
  upgrade_disk: fc.boolean(),
  dns_ptr: fc.option(name),
};

/** The fields of each route, so that many requests are meaningful. */
const WANTS = new Map(
  Object.entries({
    "/load_balancers": "name load_balancer_type location services targets labels network",
    "/networks": "name ip_range subnets routes labels",
    "/servers":
      "name server_type image location labels networks firewalls placement_group public_net start_after_create",
    "/certificates": "name type domain_names labels",
    "/firewalls": "name rules apply_to labels",
    "/placement_groups": "name type",
    "/primary_ips": "name type location labels",
    add_service: "protocol listen_port destination_port health_check",
    update_service: "listen_port protocol destination_port health_check",
    delete_service: "listen_port",
    attach_to_network: "network ip ip_range",
    detach_from_network: "network",
    change_alias_ips: "network alias_ips",
    add_subnet: "type network_zone ip_range",
    delete_subnet: "ip_range",
    add_route: "destination gateway",
    delete_route: "destination gateway",
    change_ip_range: "ip_range",
    change_protection: "delete rebuild",
    change_type: "load_balancer_type server_type upgrade_disk",
    change_algorithm: "type",
    change_dns_ptr: "ip dns_ptr",
    set_rules: "rules",
    apply_to_resources: "apply_to",
    remove_from_resources: "remove_from",
    add_to_placement_group: "placement_group",
    assign: "assignee_id assignee_type",
    rebuild: "image",
  }),
);

/** Actions without a body. */
const BARE = new Set("poweron poweroff shutdown reboot reset unassign retry enable_public_interface".split(" "));

interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

function bodyFor(path: string): fc.Arbitrary<string | undefined> {
  const action = path.split("/").at(-1) ?? "";
  if (BARE.has(action)) return fc.constant(undefined);
  if (action === "add_target") return target.map((value) => JSON.stringify(value));
  const wanted = (WANTS.get(path) ?? WANTS.get(action) ?? "name labels").split(" ");
  const shape = Object.fromEntries(wanted.map((field) => [field, FIELDS[field] ?? fc.anything()]));
  const [first = "name"] = wanted;
  const meant = fc.record(shape, { requiredKeys: wanted.slice(0, 3) });
  const partly = fc.record(shape, { requiredKeys: [first] });
  const wrong = fc.tuple(partly, fc.constantFrom(...wanted, "unknown", "__proto__"), fc.jsonValue());
  return fc.oneof(
    { weight: 30, arbitrary: meant.map((value) => JSON.stringify(value)) },
    { weight: 4, arbitrary: partly.map((value) => JSON.stringify(value)) },
    { weight: 3, arbitrary: wrong.map(([value, key, junk]) => JSON.stringify({ ...value, [key]: junk })) },
    { weight: 1, arbitrary: fc.oneof(fc.json(), fc.string(), fc.constant("{".repeat(5000)), fc.constant(undefined)) },
  );
}

const query = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  fc
    .record({
      key: fc.constantFrom("page", "per_page", "sort", "name", "label_selector", "status", "id", "type"),
      value: fc.oneof(selector.map(String), fc.string(), fc.nat().map(String)),
    })
    .map(({ key, value }) => `?${key}=${encodeURIComponent(value)}`),
);

/** Creations are the most frequent requests, so that there are resources to work on. */
const request: fc.Arbitrary<FuzzRequest> = fc
  .oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(...routes.filter(({ method, path }) => method === "POST" && !path.includes("{"))),
    },
    {
      weight: 6,
      arbitrary: fc.constantFrom(...routes.filter(({ method, path }) => method === "POST" && path.includes("{"))),
    },
    { weight: 3, arbitrary: fc.constantFrom(...routes) },
    { weight: 1, arbitrary: fc.record({ method: fc.constantFrom("PUT", "PATCH", "POST"), path: fc.webPath() }) },
  )
  .chain(({ method, path }) =>
    fc.record({
      method: fc.constant(method),
      path: fc.tuple(fc.nat(9999), query).map(([n, search]) => {
        const [, kind] = path.split("/");
        return `${path.replace("{}", `$${kind}:${n}`).replaceAll("{}", String(n))}${method === "GET" ? search : ""}`;
      }),
      body: method === "GET" || method === "DELETE" ? fc.constant(undefined) : bodyFor(path),
    }),
  );

/** Replaces placeholders with ids of existing resources, except one in twenty. */
function resolve(text: string): string {
  const { actions: _, rrsets: __, ...kinds } = cloud.state;
  const viewOf = (kind: string) =>
    kinds[kind.replace(/_(\w)/, (_, letter: string) => letter.toUpperCase()) as keyof typeof kinds];
  return text.replace(/"?\$(\w+):(\d+)"?/g, (_, kind: string, n: string) => {
    const ids = Number(n) % 20 === 0 ? [] : (viewOf(kind)?.ids() ?? []);
    return String(ids[Number(n) % ids.length] ?? n);
  });
}

async function send({ method, path, body }: FuzzRequest): Promise<{ status: number; json: unknown }> {
  const response = await fetch(`${cloud.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${cloud.token}` },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
}

test(`${REQUESTS} random requests: no 5xx, always Hetzner's error format, no invariant violated`, async () => {
  const counts = new Map<number, number>();
  const requests = fc.sample(request, { numRuns: REQUESTS, seed: SEED });
  for (const [index, asked] of requests.entries()) {
    const one = { ...asked, path: resolve(asked.path), body: asked.body && resolve(asked.body) };
    const { status, json } = await send(one);
    counts.set(status, (counts.get(status) ?? 0) + 1);
    const told = `request ${index}: ${one.method} ${one.path} ${one.body?.slice(0, 300)} → ${status} ${JSON.stringify(json)?.slice(0, 300)}`;
    if (status >= 500) expect.fail(told);
    if (status >= 400) expect(json, told).toHaveProperty("error.details");
    const violation = violationOf(one.method, one.path, status, json);
    if (violation) expect.fail(`${told}\n${violation}`);
    if (index % 200 === 0) expect(brokenInvariants(cloud), told).toEqual([]);
  }
  expect(brokenInvariants(cloud)).toEqual([]);
  const tally = [...counts].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  process.stderr.write(`fuzz (seed ${SEED}): ${tally.join(", ")}\n`);
  expect(counts.get(201) ?? 0).toBeGreaterThan(REQUESTS / 20);
});
