import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OPTION_ROWS, OPTIONS, PREFIX } from "../../../../../../controller/render/service/options/annotations.ts";
import { parseDefaults, parseSettings } from "../../../../../../controller/render/service/options/settings.ts";
import { hostileText } from "../../../../../support/hostile.ts";

const PORTS = [
  { name: "web", port: 80 },
  { name: "tls", port: 443, appProtocol: "https" },
];
const prefixed = (annotations: Record<string, string>) =>
  Object.fromEntries(Object.entries(annotations).map(([key, value]) => [PREFIX + key, value]));
const settings = (annotations: Record<string, string>, defaults = {}) =>
  parseSettings(prefixed(annotations), PORTS, defaults);
const parse = (annotations: Record<string, string>, defaults = {}) => {
  const { options, mistakes } = settings(annotations, defaults);
  return { options, mistakes };
};
const notes = (annotations: Record<string, string>) => settings(annotations).notes.map(({ message }) => message);

describe("parseSettings", () => {
  it("ignores annotations of others", () => {
    for (const annotations of [{}, { "example.com/type": "x", protocol: "x" }]) {
      const { options, mistakes, notes } = parseSettings(annotations, PORTS, {});
      expect({ options, mistakes, notes }).toEqual({ options: {}, mistakes: [], notes: [] });
    }
  });

  it.each([
    ["A1", "name", "web front", { name: "web front" }],
    ["A1", "name", "", { name: "" }],
    ["A2", "location", "fsn1", { location: "fsn1" }],
    ["A3", "network-zone", "eu-central", { networkZone: "eu-central" }],
    ["A4", "type", "lb21", { type: "lb21" }],
    ["A5", "algorithm-type", "LEAST_connections", { algorithm: "least_connections" }],
    ["A6", "disable-public-network", "true", { disablePublicNetwork: true }],
    ["A7", "ipv4-rdns", "a.example.com", { ipv4Rdns: "a.example.com" }],
    ["A8", "ipv6-rdns", "b.example.com", { ipv6Rdns: "b.example.com" }],
    ["A7", "ipv4-rdns", "A.Example.com", { ipv4Rdns: "a.example.com" }],
    ["A9", "private-ipv4", "10.0.0.9", { privateIpv4: "10.0.0.9" }],
    ["A10", "private-subnet-ip-range", "10.0.1.9/24", { privateSubnet: "10.0.1.0/24" }],
    ["(ours)", "id", "4711", { id: 4711 }],
    ["(ours)", "labels", "team=web, env=", { labels: { team: "web", env: "" } }],
    ["(ours)", "delete-protection", "true", { deleteProtection: true }],
    ["(ours)", "on-delete", "KEEP", { onDelete: "keep" }],
    ["(ours)", "uses-app-protocol", "true", { appProtocol: true }],
    ["A11", "use-private-ip", "t", { usePrivateIp: true }],
    ["A12", "disable-private-ingress", "1", { disablePrivateIngress: true }],
    ["A13", "ipv6-disabled", "FALSE", { ipv6Disabled: false }],
    ["A14", "hostname", "lb.example.com", { hostname: "lb.example.com" }],
    ["A15", "node-selector", "a in (b)", { nodeSelector: "a in (b)" }],
    ["A16", "protocol", "HTTP", { protocol: "http" }],
    ["A17", "uses-proxyprotocol", "True", { proxyProtocol: true }],
    ["A18", "http-cookie-name", "SESSION", { cookieName: "SESSION" }],
    ["A19", "http-cookie-lifetime", "1h30m", { cookieLifetime: 5_400 }],
    ["A20", "http-timeout-idle", "1m", { timeoutIdle: 60 }],
    ["A21", "http-redirect-http", "true", { redirectHttp: true }],
    ["A22", "http-sticky-sessions", "true", { stickySessions: true }],
    ["A23", "http-certificates", "4711, web cert ,, web cert", { certificates: ["4711", "web cert"] }],
    ["A24", "certificate-type", "Managed", { certificateType: "managed" }],
    ["A25", "http-managed-certificate-name", "web", { managedName: "web" }],
    [
      "A26",
      "http-managed-certificate-domains",
      " example.com,*.example.com , ",
      { managedDomains: ["example.com", "*.example.com"] },
    ],
    ["A27", "http-managed-certificate-acme-staging", "true", { managedStaging: true }],
    ["A28", "health-check-protocol", "https", { healthCheckProtocol: "https" }],
    ["A29", "health-check-port", "8080", { healthCheckPort: 8080 }],
    ["A30", "health-check-interval", "30s", { healthCheckInterval: 30 }],
    ["A30", "health-check-interval", "7", { healthCheckInterval: 7 }],
    ["A19", "http-cookie-lifetime", "600", { cookieLifetime: 600 }],
    ["A31", "health-check-timeout", "5s", { healthCheckTimeout: 5 }],
    ["A32", "health-check-retries", "5", { healthCheckRetries: 5 }],
    ["A33", "health-check-http-domain", "example.com", { healthCheckDomain: "example.com" }],
    ["A34", "health-check-http-path", "/healthz?full=1", { healthCheckPath: "/healthz?full=1" }],
    ["A35", "health-check-http-validate-certificate", "true", { healthCheckTls: true }],
    ["A36", "http-status-codes", "2??, 301", { healthCheckStatusCodes: ["2??", "301"] }],
  ])("HCCM %s: reads %s %j", (_, annotation, text, options) => {
    expect(parse({ [annotation]: text })).toEqual({ options, mistakes: [] });
  });

  it.each([
    ["name", " web", "128 characters"],
    ["name", "web\nfront", "128 characters"],
    ["name", "x".repeat(129), "128 characters"],
    ["location", "fsn 1", "without spaces"],
    ["algorithm-type", "random", "round_robin, least_connections"],
    ["disable-public-network", "", "true or false"],
    ["ipv4-rdns", "under_score.example.com", "DNS name"],
    ["ipv6-rdns", "2001:db8::1", "DNS name"],
    ["private-subnet-ip-range", "10.0.1.0", "an IPv4 CIDR"],
    ["private-subnet-ip-range", "2001:db8::/64", "an IPv4 CIDR"],
    ["id", "web", "the numeric id"],
    ["id", "0", "the numeric id"],
    ["id", "99999999999999999999", "the numeric id"],
    ["labels", "team", "such as team=web"],
    ["labels", "a=b=c", "such as team=web"],
    ["labels", "hcloud-ccm/service-uid=x", "such as team=web"],
    ["labels", "lotse/protected=true", "such as team=web"],
    ["labels", "hetzner.cloud/x=y", "such as team=web"],
    ["labels", "Example.com/x=y", "such as team=web"],
    ["labels", "a_b/x=y", "such as team=web"],
    ["labels", "a..b/x=y", "such as team=web"],
    ["labels", "/x=y", "such as team=web"],
    ["labels", `${"k".repeat(57)}=x`, "56 characters"],
    ["labels", "a=1,".repeat(16).concat("b=2"), "up to 16"],
    ["delete-protection", "", "true or false"],
    ["on-delete", "retain", "one of delete, keep"],
    ["uses-app-protocol", "yes", "true or false"],
    ["node-selector", "a=b=c", "a label selector"],
    ["private-ipv4", "", "an IPv4 address"],
    ["private-ipv4", "10.0.0.300", "an IPv4 address"],
    ["use-private-ip", "yes", "true or false"],
    ["certificate-type", "issued", "one of uploaded, managed"],
    ["http-certificates", "web\u0007cert", "ids or names"],
    ["http-managed-certificate-domains", "example", "domain names"],
    ["http-managed-certificate-domains", "example.com;www.example.com", "domain names"],
    ["http-managed-certificate-acme-staging", "yes", "true or false"],
    ["tls-secret", "Web", "Secret names"],
    ["tls-secret", "other/web", "Secret names"],
    ["hostname", "10.0.0.1", "DNS name"],
    ["hostname", "lb_1.example.com", "DNS name"],
    ["hostname", "lb.example.com.", "DNS name"],
    ["hostname", "LB.example.com", "DNS name"],
    ["protocol", "tpc", "tcp, http, https"],
    ["http-cookie-name", "x".repeat(101), "100 characters"],
    ["http-cookie-lifetime", "29", "from 30s to 86400s"],
    ["http-cookie-lifetime", "300x", "a duration such as 30s"],
    ["http-cookie-lifetime", "-300", "a duration such as 30s"],
    ["health-check-interval", "7.5", "a duration such as 3s"],
    ["http-cookie-lifetime", "29s", "from 30s to 86400s"],
    ["http-timeout-idle", "301s", "from 30s to 300s"],
    ["health-check-port", "0", "from 1 to 65535"],
    ["health-check-interval", "2s", "from 3s to 60s"],
    ["health-check-timeout", "61s", "from 1s to 60s"],
    ["health-check-retries", "6", "from 1 to 5"],
    ["health-check-http-domain", "a%20b", "%"],
    ["health-check-http-path", "/a b", "without spaces"],
    ["http-status-codes", "", "such as 2??,301"],
    ["http-status-codes", "ok", "such as 2??,301"],
    ["http-status-codes", "200,".repeat(20).concat("200"), "up to 20"],
  ])("refuses %s %j and says what is allowed", (annotation, text, allowed) => {
    const { options, mistakes } = parse({ [annotation]: text });
    expect(options).toEqual({});
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(`annotation ${PREFIX}${annotation}: `);
    expect(mistakes[0]).toContain(allowed);
  });

  it("unlike HCCM A27: takes no text that is not a boolean for the production CA", () => {
    const { broken } = settings({ "http-managed-certificate-acme-staging": "yes" });
    expect([...broken]).toEqual(["managedStaging"]);
  });

  it("reports every mistake and keeps the valid options", () => {
    const { options, mistakes } = parse({ protocol: "x", "health-check-retries": "9", type: "lb21" });
    expect(options).toEqual({ type: "lb21" });
    expect(mistakes).toHaveLength(2);
  });

  it("prefers annotations to defaults, even empty ones (HCCM A2, A4)", () => {
    const defaults = { location: "nbg1", type: "lb31", usePrivateIp: true };
    expect(parse({ location: "", type: "lb21" }, defaults).options).toEqual({
      location: "",
      type: "lb21",
      usePrivateIp: true,
    });
  });

  it("names the source of each option: the annotation, or the variable for all Services", () => {
    expect(settings({ type: "lb21" }, { type: "lb31", usePrivateIp: true }).sources).toEqual({
      type: `annotation ${PREFIX}type`,
      usePrivateIp: "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP",
    });
  });

  it("does not fall back to the default when an annotation is invalid", () => {
    const { options, broken } = settings({ "algorithm-type": "x" }, { algorithm: "least_connections" });
    expect(options).toEqual({});
    expect([...broken]).toEqual(["algorithm"]);
  });

  it("stays plain and bounded on hostile values: one line per mistake, naming its annotation", () => {
    const names = Object.values(OPTIONS).map(({ annotation }) => annotation);
    fc.assert(
      fc.property(fc.constantFrom(...names), hostileText, (annotation, text) => {
        const { options, mistakes } = parse({ [annotation]: text });
        expect(Object.keys(options).length + mistakes.length).toBe(1);
        for (const mistake of mistakes) {
          expect(mistake).toMatch(/^annotation load-balancer\.hetzner\.cloud\/[a-z0-9-]+: "[^\n]*" is not [^\n]+$/);
          expect(mistake.length).toBeLessThan(700);
        }
      }),
    );
  });
});

describe("options of one port", () => {
  const of = (port: number, annotations: Record<string, string>, defaults = {}) =>
    settings(annotations, defaults).ports.get(port)?.options;

  it.each([
    ["by number", { "80.protocol": "http" }, "http", undefined],
    ["by name", { "web.protocol": "http" }, "http", undefined],
    ["the number before the name", { "80.protocol": "http", "web.protocol": "tcp" }, "http", undefined],
    ["its own before that of all", { protocol: "http", "web.protocol": "tcp" }, "tcp", "http"],
  ])("unlike HCCM V5: %s", (_, annotations, web, tls) => {
    expect(of(80, annotations)?.protocol).toBe(web);
    expect(of(443, annotations)?.protocol).toBe(tls);
  });

  it("take precedence over cluster-wide defaults, one by one", () => {
    const defaults = { proxyProtocol: true, healthCheckRetries: 2 };
    expect(of(80, { "web.uses-proxyprotocol": "false" }, defaults)).toEqual({
      proxyProtocol: false,
      healthCheckRetries: 2,
    });
    expect(of(443, { "web.uses-proxyprotocol": "false" }, defaults)).toEqual(defaults);
  });

  it("are valid or invalid for that port alone", () => {
    const wrong = settings({ "web.protocol": "x" });
    expect(wrong.mistakes).toEqual([`annotation ${PREFIX}web.protocol: "x" is not one of tcp, http, https`]);
    expect([wrong.ports.get(80)?.broken.size, wrong.ports.get(443)?.broken.size, wrong.broken.size]).toEqual([1, 0, 0]);
    const right = settings({ protocol: "x", "web.protocol": "http" });
    expect([right.ports.get(80)?.broken.size, right.ports.get(443)?.broken.size]).toEqual([0, 1]);
  });

  it("name their source", () => {
    expect(settings({ "web.protocol": "http" }).ports.get(80)?.sources.protocol).toBe(
      `annotation ${PREFIX}web.protocol`,
    );
  });

  it.each(OPTION_ROWS.map(([, { annotation }]) => annotation))(
    "%s: can be set per port, or is reported as not",
    (annotation) => {
      const { mistakes, notes: found } = settings({ [`web.${annotation}`]: "\u0000(" });
      expect(mistakes.length + found.length).toBe(1);
    },
  );

  describe("from appProtocol", () => {
    it("are used on request, before the Service's and after the port's own", () => {
      expect(of(443, {})?.protocol).toBeUndefined();
      expect(of(443, { "uses-app-protocol": "true", protocol: "http" })?.protocol).toBe("https");
      expect(of(80, { "uses-app-protocol": "true", protocol: "http" })?.protocol).toBe("http");
      expect(of(443, { "uses-app-protocol": "true", "tls.protocol": "tcp" })?.protocol).toBe("tcp");
    });

    it.each(["kubernetes.io/h2c", "constructor", "HTTP", ""])("are not derived from %j", (appProtocol) => {
      const ports = [{ port: 80, appProtocol }];
      const { ports: found } = parseSettings(prefixed({ "uses-app-protocol": "true" }), ports, {});
      expect(found.get(80)?.options.protocol).toBeUndefined();
    });
  });
});

describe("an unknown annotation with our prefix", () => {
  it.each([
    ["health-check-retrys", "did you mean health-check-retries?"],
    ["use-proxyprotocol", "did you mean uses-proxyprotocol?"],
    ["web.protocl", "did you mean web.protocol?"],
    ["web.type", "type cannot be set per port"],
    ["8443.protocol", "this Service has no port named 8443"],
    ["something-else-altogether", "there is no such annotation"],
    ["", "there is no such annotation"],
    ["x".repeat(300), "there is no such annotation"],
  ])("%s: is reported, but is no mistake", (annotation, reason) => {
    expect(notes({ [annotation]: "x" })).toEqual([`annotation ${PREFIX}${annotation} has no effect: ${reason}`]);
    expect(parse({ [annotation]: "x" })).toEqual({ options: {}, mistakes: [] });
  });

  it("is reported with the others in one short note", () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`zzzzzzzzz${index}`, "x"]));
    const [note, ...more] = notes(many);
    expect(more).toEqual([]);
    expect(note).toContain("and 45 more");
  });

  it.each(["ipv4", "ipv6"])("HCCM A37: unless the official controller documents it: %s", (annotation) => {
    expect(notes({ [annotation]: "1" })).toEqual([]);
  });
});

describe("parseDefaults", () => {
  it.each([
    ["E14", "LOCATION", "fsn1", { location: "fsn1" }],
    ["E15", "NETWORK_ZONE", "eu-central", { networkZone: "eu-central" }],
    ["E16", "TYPE", "lb21", { type: "lb21" }],
    ["E17", "ALGORITHM_TYPE", " Least_Connections ", { algorithm: "least_connections" }],
    ["E18", "USE_PRIVATE_IP", "true", { usePrivateIp: true }],
    ["E19", "DISABLE_PRIVATE_INGRESS", "true", { disablePrivateIngress: true }],
    ["E20", "DISABLE_PUBLIC_NETWORK", "false", { disablePublicNetwork: false }],
    ["E21", "DISABLE_IPV6", "1", { ipv6Disabled: true }],
    ["E22", "PRIVATE_SUBNET_IP_RANGE", "10.0.1.0/24", { privateSubnet: "10.0.1.0/24" }],
    ["E23", "USES_PROXYPROTOCOL", "true", { proxyProtocol: true }],
    ["E24", "HEALTH_CHECK_INTERVAL", "30s", { healthCheckInterval: 30 }],
    ["E24", "HEALTH_CHECK_TIMEOUT", "5s", { healthCheckTimeout: 5 }],
    ["E25", "HEALTH_CHECK_RETRIES", "2", { healthCheckRetries: 2 }],
  ])("HCCM %s: reads HCLOUD_LOAD_BALANCERS_%s", (_, variable, text, options) => {
    expect(parseDefaults({ [`HCLOUD_LOAD_BALANCERS_${variable}`]: text })).toEqual({ options, mistakes: [] });
  });

  it.each(["INTERVAL", "TIMEOUT", "RETRIES"])("HCCM E24, E25: treats HEALTH_CHECK_%s 0 as not set", (variable) => {
    expect(parseDefaults({ [`HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_${variable}`]: "0" })).toEqual({
      options: {},
      mistakes: [],
    });
  });

  it("treats an empty variable as not set", () => {
    expect(parseDefaults({ HCLOUD_LOAD_BALANCERS_TYPE: "", HCLOUD_LOAD_BALANCERS_LOCATION: " " })).toEqual({
      options: {},
      mistakes: [],
    });
  });

  it("names the invalid variable", () => {
    expect(parseDefaults({ HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: "maybe" }).mistakes).toEqual([
      'HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: "maybe" is not true or false',
    ]);
  });

  it("reads no variable for annotations that have none", () => {
    expect(parseDefaults({ HCLOUD_LOAD_BALANCERS_: "x", HCLOUD_LOAD_BALANCERS_NAME: "x" }).options).toEqual({});
  });
});

it("describes every option for the reference", () => {
  const annotations = OPTION_ROWS.map(([, { annotation }]) => annotation);
  expect(new Set(annotations).size).toBe(annotations.length);
  for (const [, { annotation, doc, unset, parse }] of OPTION_ROWS) {
    expect(annotation).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(doc).toMatch(/^[A-Z].*\.$/);
    expect(unset).not.toBe("");
    expect(parse("\u0000(")).toHaveProperty("allowed");
  }
});
