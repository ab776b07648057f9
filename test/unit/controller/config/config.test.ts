import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadClusterConfig, loadConfig } from "../../../../controller/config/config.ts";
import { type FlagValues, RUN_FLAGS } from "../../../../controller/config/flags.ts";
import { ConfigError } from "../../../../controller/diagnostics/errors.ts";
import { ENVIRONMENT } from "../../../tools/docs/options.ts";

const TOKEN = { HCLOUD_TOKEN: "t".repeat(64) };
const load = (flags: FlagValues = {}, env: Record<string, string> = {}) => loadConfig(flags, { ...TOKEN, ...env });

/** Every mistake in a configuration. */
function mistakes(flags: FlagValues, env: Record<string, string | undefined> = TOKEN): readonly string[] {
  try {
    loadConfig(flags, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}

describe("a configuration", () => {
  it("needs a token and nothing else", () => {
    expect(load()).toMatchObject({
      clusterName: "kubernetes",
      clusterCidrs: [],
      token: TOKEN.HCLOUD_TOKEN,
      endpoint: "https://api.hetzner.cloud/v1",
      addressFamily: "ipv4",
      zoneLabel: true,
      loadBalancers: true,
      serviceDefaults: {},
      resyncMs: 60_000,
      verbosity: 0,
      warnings: [],
    });
  });

  it("cannot be changed", () => {
    expect(Object.isFrozen(load())).toBe(true);
  });

  it.each([
    ["E2", { HCLOUD_ENDPOINT: "http://127.0.0.1:1/v1" }, { endpoint: "http://127.0.0.1:1/v1" }],
    ["E4", { HCLOUD_NETWORK: "cluster" }, { network: "cluster" }],
    ["E7", { HCLOUD_INSTANCES_ADDRESS_FAMILY: "dualstack" }, { addressFamily: "dualstack" }],
    ["E8", { HCLOUD_INSTANCES_ZONE_LABEL_ENABLED: "false" }, { zoneLabel: false }],
    ["E13", { HCLOUD_LOAD_BALANCERS_ENABLED: "0" }, { loadBalancers: false }],
    ["E16", { HCLOUD_LOAD_BALANCERS_TYPE: "lb21" }, { serviceDefaults: { type: "lb21" } }],
    [
      "an empty variable is not set",
      { HCLOUD_NETWORK: "", HCLOUD_ENDPOINT: "" },
      { endpoint: "https://api.hetzner.cloud/v1" },
    ],
  ])("takes HCCM %s from the environment", (_, env, expected) => {
    expect(load({}, env)).toMatchObject(expected);
  });

  it.each<[string, FlagValues, object]>([
    ["kubeconfig", { kubeconfig: "/etc/kc" }, { kubeconfig: "/etc/kc" }],
    ["master", { master: "https://x" }, { master: "https://x" }],
    ["state", { state: "s3://bucket/lotse" }, { state: "s3://bucket/lotse" }],
    ["cluster-name", { "cluster-name": "prod.eu-1" }, { clusterName: "prod.eu-1" }],
    ["cluster-name of any form", { "cluster-name": "A__b--c.0.Z" }, { clusterName: "A__b--c.0.Z" }],
    ["one cluster-cidr", { "cluster-cidr": "10.244.0.0/16" }, { clusterCidrs: ["10.244.0.0/16"] }],
    [
      "framework O23: one of each family",
      { "cluster-cidr": "10.0.0.0/16, fd00::/56" },
      { clusterCidrs: ["10.0.0.0/16", "fd00::/56"] },
    ],
    ["resync", { resync: "1m5s" }, { resyncMs: 65_000 }],
    ["deadline of a run", { "run-deadline": "2m" }, { runDeadlineMs: 120_000 }],
    ["verbosity", { v: "4" }, { verbosity: 4 }],
    ["logging-format", { "logging-format": "JSON" }, { logFormat: "json" }],
  ])("takes %s from flags", (_, flags, expected) => {
    expect(load(flags)).toMatchObject(expected);
  });

  it("accepts Pulumi Cloud with a token", () => {
    const state = "https://api.pulumi.com";
    expect(load({ state }, { PULUMI_ACCESS_TOKEN: "pul-1" })).toMatchObject({ state });
  });

  it.each<[string, FlagValues, Record<string, string>, readonly string[]]>([
    ["the network has them by default", {}, { HCLOUD_NETWORK: "n" }, ["10.244.0.0/16"]],
    ["--configure-cloud-routes=false", { "configure-cloud-routes": "false" }, { HCLOUD_NETWORK: "n" }, []],
    ["E6 false", {}, { HCLOUD_NETWORK: "n", HCLOUD_NETWORK_ROUTES_ENABLED: "false" }, []],
    ["E6 is not even parsed without a network", {}, { HCLOUD_NETWORK_ROUTES_ENABLED: "x" }, ["10.244.0.0/16"]],
    ["a bare --configure-cloud-routes", { "configure-cloud-routes": true }, { HCLOUD_NETWORK: "n" }, ["10.244.0.0/16"]],
  ])("creates routes: HCCM %s", (_, flags, env, expected) => {
    expect(load({ "cluster-cidr": "10.244.0.0/16", ...flags }, env).clusterCidrs).toEqual(expected);
  });

  it("warns when there is a network for routes, but no range of pods", () => {
    const env = { HCLOUD_NETWORK: "n" };
    expect(load({}, env).warnings).toEqual([expect.stringContaining("--cluster-cidr is not set")]);
    const withoutRoutes = [
      load({ "cluster-cidr": "10.244.0.0/16" }, env),
      load({ "configure-cloud-routes": "false" }, env),
      load({ controllers: "*,-route" }, env),
      load({}, { ...env, HCLOUD_NETWORK_ROUTES_ENABLED: "false" }),
      load(),
    ];
    for (const { warnings } of withoutRoutes) expect(warnings).toEqual([]);
  });
});

describe("mistakes", () => {
  it.each<[string, FlagValues, Record<string, string>, string[]]>([
    [
      "E7: an unknown family",
      {},
      { HCLOUD_INSTANCES_ADDRESS_FAMILY: "ipv5" },
      ["HCLOUD_INSTANCES_ADDRESS_FAMILY", "ipv4, ipv6, dualstack"],
    ],
    [
      "E8: no boolean",
      {},
      { HCLOUD_INSTANCES_ZONE_LABEL_ENABLED: "maybe" },
      ["HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", "true or false"],
    ],
    ["E2: no address", {}, { HCLOUD_ENDPOINT: "api.hetzner.cloud" }, ["HCLOUD_ENDPOINT", "http or https"]],
    [
      "E14: location and zone",
      {},
      { HCLOUD_LOAD_BALANCERS_LOCATION: "a", HCLOUD_LOAD_BALANCERS_NETWORK_ZONE: "b" },
      ["LOCATION", "NETWORK_ZONE"],
    ],
    [
      "E18: a wrong default",
      {},
      { HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: "x" },
      ["HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP"],
    ],
    ["another provider", { "cloud-provider": "aws" }, {}, ["--cloud-provider", "hcloud"]],
    ["framework O22: two ranges of one family", { "cluster-cidr": "10.0.0.0/16,10.1.0.0/16" }, {}, ["--cluster-cidr"]],
    ["three ranges", { "cluster-cidr": "10.0.0.0/16,fd00::/56,fd01::/56" }, {}, ["--cluster-cidr"]],
    ["no range", { "cluster-cidr": "10.0.0.0" }, {}, ["--cluster-cidr"]],
    ["a range in short form, which means another one", { "cluster-cidr": "10.244/16" }, {}, ["--cluster-cidr"]],
    ["a name that is no stack's", { "cluster-name": "a/b" }, {}, ["--cluster-name"]],
    ["a name with which no ConfigMap's can end", { "cluster-name": "prod_" }, {}, ["--cluster-name"]],
    ["a name with a part that is empty", { "cluster-name": "prod..eu" }, {}, ["--cluster-name"]],
    ["a name with a part that begins with a dash", { "cluster-name": "prod.-eu" }, {}, ["--cluster-name"]],
    ["a name that is too long", { "cluster-name": "a".repeat(101) }, {}, ["--cluster-name"]],
    ["no time", { resync: "0" }, {}, ["--resync"]],
    ["a time without a unit", { resync: "60" }, {}, ["--resync", "a duration with a unit"]],
    ["a time that no timer can wait for", { resync: "Infinity" }, {}, ["--resync", "86400"]],
    ["a time beyond what timers hold", { resync: "9999999s" }, {}, ["--resync", "86400"]],
    ["Pulumi Cloud without a token", { state: "https://api.pulumi.com" }, {}, ["PULUMI_ACCESS_TOKEN is not set"]],
    ["a state at an address in clear text", { state: "http://pulumi.example" }, {}, ["--state", "https://"]],
    ["no verbosity", { v: "-1" }, {}, ["--v"]],
    ["no format", { "logging-format": "xml" }, {}, ["--logging-format", "json, text"]],
    [
      "a boolean flag with something else",
      { "configure-cloud-routes": "x" },
      {},
      ["--configure-cloud-routes", "true or false"],
    ],
  ])("%s", (_, flags, env, words) => {
    const found = mistakes(flags, { ...TOKEN, ...env });
    expect(found).toHaveLength(1);
    for (const word of words) expect(found[0]).toContain(word);
  });

  it("are reported all at once", () => {
    expect(mistakes({ "cloud-provider": "x", v: "x" }, { HCLOUD_INSTANCES_ADDRESS_FAMILY: "x" })).toHaveLength(4);
  });

  it("never show the token", () => {
    const secret = "s3cret token";
    expect(mistakes({ v: "x" }, { HCLOUD_TOKEN: secret }).join()).not.toContain("s3cret");
  });
});

describe("the token (HCCM E1)", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "lotse-test-"));
  });
  afterEach(() => rm(dir, { recursive: true }));

  it("may come from a file, trimmed", async () => {
    const file = join(dir, "token");
    await writeFile(file, " abc\n");
    expect(loadConfig({}, { HCLOUD_TOKEN_FILE: file })).toMatchObject({ token: "abc", tokenFile: file });
  });

  it("comes from the variable rather than the file, even when the variable is empty", async () => {
    const file = join(dir, "token");
    await writeFile(file, "abc");
    expect(loadConfig({}, { HCLOUD_TOKEN: "direct", HCLOUD_TOKEN_FILE: file }).token).toBe("direct");
    expect(mistakes({}, { HCLOUD_TOKEN: "", HCLOUD_TOKEN_FILE: file })[0]).toContain("HCLOUD_TOKEN is not set");
  });

  it("is accepted with a warning when its length is unusual", () => {
    expect(loadConfig({}, { HCLOUD_TOKEN: "t".repeat(63) }).warnings).toEqual([
      expect.stringContaining("63 characters"),
    ]);
    expect(load().warnings).toEqual([]);
  });

  it.each([
    ["is missing", {}, "HCLOUD_TOKEN is not set"],
    ["is in a file that cannot be read", { HCLOUD_TOKEN_FILE: "/nowhere/token" }, "HCLOUD_TOKEN_FILE"],
    ["contains a line break", { HCLOUD_TOKEN: "abc\n" }, "line breaks"],
    ["contains a space", { HCLOUD_TOKEN: "a b" }, "spaces"],
  ])("is refused when it %s", (_, env, message) => {
    const found = mistakes({}, env);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });
});

/** The flags that the issue, the official chart and the framework name; see cloud-provider.md 5.2. */
const UPSTREAM =
  `kubeconfig master cloud-provider cloud-config cluster-name cluster-cidr allocate-node-cidrs cidr-allocator-type
  configure-cloud-routes controllers controller-start-interval leader-elect leader-elect-lease-duration
  leader-elect-renew-deadline leader-elect-retry-period leader-elect-resource-lock leader-elect-resource-name
  leader-elect-resource-namespace bind-address secure-port cert-dir tls-cert-file tls-private-key-file tls-min-version
  tls-cipher-suites tls-curve-preferences tls-sni-cert-key http2-max-streams-per-connection disable-http2-serving
  permit-port-sharing permit-address-sharing authentication-kubeconfig authorization-kubeconfig authentication-skip-lookup
  authentication-tolerate-lookup-failure authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
  authorization-webhook-cache-unauthorized-ttl authorization-always-allow-paths client-ca-file requestheader-client-ca-file
  requestheader-allowed-names requestheader-extra-headers-prefix requestheader-group-headers requestheader-username-headers
  kube-api-qps kube-api-burst kube-api-content-type min-resync-period profiling contention-profiling
  route-reconciliation-period node-status-update-frequency node-monitor-period node-sync-period concurrent-node-syncs
  concurrent-node-status-updates concurrent-service-syncs allow-untagged-cloud use-service-account-credentials
  external-cloud-volume-plugin enable-leader-migration leader-migration-config v vmodule logging-format log-flush-frequency
  feature-gates webhooks webhook-bind-address webhook-secure-port webhook-cert-dir webhook-tls-cert-file
  webhook-tls-private-key-file webhook-disable-http2-serving`.split(/\s+/);

describe("flags of other cloud-controller-managers (HCCM F1 to F14)", () => {
  it.each(UPSTREAM)("--%s is known", (name) => {
    expect(RUN_FLAGS.filter((flag) => flag.name === name)).toHaveLength(1);
  });

  it("warn when they have no effect, once each, with the reason", () => {
    const ignored = RUN_FLAGS.filter((flag) => flag.ignored);
    const { warnings } = load(Object.fromEntries(ignored.map(({ name }) => [name, "1"])));
    expect(warnings).toEqual(ignored.map(({ name }) => expect.stringMatching(`^--${name} has no effect: .+`)));
  });

  it("HCCM F1 to F7: those of the official chart work unchanged", () => {
    const flags = {
      "cloud-provider": "hcloud",
      "allow-untagged-cloud": true,
      "route-reconciliation-period": "30s",
      "feature-gates": "CloudControllerManagerWatchBasedRoutesReconciliation=true",
      "webhook-secure-port": "0",
      "leader-elect": "false",
      "allocate-node-cidrs": "true",
      "cluster-cidr": "10.244.0.0/16",
    };
    const { warnings, lease, clusterCidrs } = load(flags, { HCLOUD_NETWORK: "cluster" });
    expect(warnings).toHaveLength(5);
    expect({ lease, clusterCidrs }).toEqual({ lease: undefined, clusterCidrs: ["10.244.0.0/16"] });
  });

  it("accept durations in Go's syntax, within bounds", () => {
    expect(load({}).nodeMonitorMs).toBe(5_000);
    expect(load({ "node-monitor-period": "1m30s" }).nodeMonitorMs).toBe(90_000);
    expect(mistakes({ "node-monitor-period": "5" })).toEqual([
      '--node-monitor-period: "5" is not a duration with a unit, from 1s to 3600s',
    ]);
  });

  it.each<[string, object]>([
    ["*", { nodes: true, lifecycle: true, loadBalancers: true, clusterCidrs: ["10.244.0.0/16"] }],
    ["*,-route", { nodes: true, lifecycle: true, loadBalancers: true, clusterCidrs: [] }],
    ["service-lb-controller", { nodes: false, lifecycle: false, loadBalancers: true, clusterCidrs: [] }],
    ["-service,*", { nodes: true, lifecycle: true, loadBalancers: false, clusterCidrs: ["10.244.0.0/16"] }],
  ])("--controllers=%s enables and disables controllers", (list, expected) => {
    expect(load({ controllers: list, "cluster-cidr": "10.244.0.0/16" })).toMatchObject(expected);
  });
});

describe("leader election", () => {
  it("is on, with upstream's names and times", () => {
    expect(load().lease).toEqual({
      namespace: "kube-system",
      name: "cloud-controller-manager",
      durationMs: 15_000,
      deadlineMs: 10_000,
      retryMs: 2_000,
    });
  });

  it.each([
    ["a deadline as long as the lease", { "leader-elect-renew-deadline": "15s" }, "--leader-elect-lease-duration"],
    ["tries too far apart", { "leader-elect-retry-period": "9s" }, "1.2 times"],
    ["another kind of lock", { "leader-elect-resource-lock": "endpoints" }, "leases"],
  ])("refuses %s", (_, flags, message) => {
    expect(mistakes(flags)).toEqual([expect.stringContaining(message)]);
    if (!message.startsWith("leases")) expect(mistakes({ ...flags, "leader-elect": "false" })).toEqual([]);
  });
});

describe("health and metrics", () => {
  it("have upstream's ports, and HCCM's for plain metrics", () => {
    const { secure, metrics } = load().serve;
    expect(metrics).toEqual({ port: 8233 });
    expect(secure).toMatchObject({ host: "0.0.0.0", port: 10_258, openPaths: ["/healthz", "/readyz", "/livez"] });
  });

  it.each<[string, FlagValues, Record<string, string>, object]>([
    ["--secure-port=0", { "secure-port": "0" }, {}, { metrics: { port: 8233 } }],
    ["E12", { "secure-port": "0" }, { HCLOUD_METRICS_ADDRESS: "[::1]:99" }, { metrics: { host: "::1", port: 99 } }],
    ["E11", { "secure-port": "0" }, { HCLOUD_METRICS_ENABLED: "false" }, {}],
  ])("HCCM %s", (_, flags, env, expected) => {
    expect(load(flags, env).serve).toEqual(expected);
  });

  it.each<[string, FlagValues, Record<string, string>, string]>([
    ["half a certificate", { "tls-cert-file": "x" }, {}, "--tls-private-key-file"],
    ["no port", { "secure-port": "70000" }, {}, "--secure-port"],
    ["no address", { "bind-address": "host" }, {}, "--bind-address"],
    ["no metrics address", {}, { HCLOUD_METRICS_ADDRESS: "8233" }, "HCLOUD_METRICS_ADDRESS"],
  ])("refuse %s", (_, flags, env, message) => {
    expect(mistakes(flags, { ...TOKEN, ...env })).toEqual([expect.stringContaining(message)]);
  });
});

describe("the environment", () => {
  it.each([
    "HCLOUD_DEBUG",
    "HCLOUD_NETWORK_ROUTES_ENABLED",
    "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK",
    "HCLOUD_METRICS_ENABLED",
    "HCLOUD_LOAD_BALANCERS_ENABLED",
    "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP",
    "HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL",
    "ROBOT_ENABLED",
  ])("HCCM E3 to E30: an empty %s is a mistake", (name) => {
    expect(mistakes({}, { ...TOKEN, HCLOUD_NETWORK: "n", [name]: "" })).toEqual([`${name}: "" is not true or false`]);
  });

  it.each([
    ["HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL", "0"],
    ["HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_TIMEOUT", "0s"],
    ["HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES", "0"],
    ["HCLOUD_LOAD_BALANCERS_TYPE", ""],
  ])("HCCM E16, E24, E25: %s=%j means not set", (name, value) => {
    expect(load({}, { [name]: value }).serviceDefaults).toEqual({});
  });

  it.each([
    ["HCLOUD_SERVER_CACHE_MODE", "one", "two"],
    ["HCLOUD_SERVER_CACHE_MAX_AGE", "10s", "10"],
  ])("HCCM E9, E10: %s is checked and has no effect", (name, right, wrong) => {
    expect(load({}, { [name]: right }).warnings).toEqual([expect.stringMatching(`^${name} has no effect: `)]);
    expect(mistakes({}, { ...TOKEN, [name]: wrong })).toEqual([expect.stringContaining(name)]);
  });

  it("is documented completely", () => {
    const readNames = new Set<string>();
    const env = { ...TOKEN, HCLOUD_NETWORK: "n", ROBOT_ENABLED: "true" };
    const watched = new Proxy<Record<string, string>>(env, {
      get: (target, name: string) => {
        readNames.add(name);
        return target[name];
      },
    });
    loadConfig({}, watched);
    const { Process: _, ...groups } = ENVIRONMENT;
    const documented = Object.values(groups).flat();
    expect(documented.map(({ name }) => name).toSorted()).toEqual([...readNames].toSorted());
  });
});

describe("the configuration of commands that need no token", () => {
  it("has the same defaults, and the namespace of the controller's objects", () => {
    expect(loadClusterConfig({ context: "prod" }, { POD_NAMESPACE: "" })).toEqual({
      clusterName: "kubernetes",
      context: "prod",
      namespace: "kube-system",
      routes: true,
    });
  });

  it.each(["", "a b"])("is refused with the cluster name %j", (name) => {
    expect(() => loadClusterConfig({ "cluster-name": name }, {})).toThrow(`--cluster-name: "${name}" is not a name of`);
  });
});
