import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../controller/config.ts";
import { ConfigError } from "../../controller/errors.ts";
import { type FlagValues, RUN_FLAGS } from "../../controller/flags.ts";

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
    ["work-dir", { "work-dir": "/var/lib/lotse" }, { workDir: "/var/lib/lotse" }],
    ["state", { state: "s3://bucket/lotse" }, { state: "s3://bucket/lotse" }],
    ["cluster-name", { "cluster-name": "prod.eu-1" }, { clusterName: "prod.eu-1" }],
    ["one cluster-cidr", { "cluster-cidr": "10.244.0.0/16" }, { clusterCidrs: ["10.244.0.0/16"] }],
    [
      "framework O23: one of each family",
      { "cluster-cidr": "10.0.0.0/16, fd00::/56" },
      { clusterCidrs: ["10.0.0.0/16", "fd00::/56"] },
    ],
    ["resync", { resync: "5" }, { resyncMs: 5_000 }],
    ["verbosity", { v: "4" }, { verbosity: 4 }],
    ["logging-format", { "logging-format": "JSON" }, { logFormat: "json" }],
  ])("takes %s from flags", (_, flags, expected) => {
    expect(load(flags)).toMatchObject(expected);
  });

  it.each<[string, FlagValues, Record<string, string>, readonly string[]]>([
    ["the network has them by default", {}, { HCLOUD_NETWORK: "n" }, ["10.244.0.0/16"]],
    ["--configure-cloud-routes=false", { "configure-cloud-routes": "false" }, { HCLOUD_NETWORK: "n" }, []],
    ["E6 false", {}, { HCLOUD_NETWORK: "n", HCLOUD_NETWORK_ROUTES_ENABLED: "false" }, []],
    ["E6 is not even parsed without a network", {}, { HCLOUD_NETWORK_ROUTES_ENABLED: "x" }, ["10.244.0.0/16"]],
    ["a bare --configure-cloud-routes", { "configure-cloud-routes": true }, { HCLOUD_NETWORK: "n" }, ["10.244.0.0/16"]],
  ])("makes routes: HCCM %s", (_, flags, env, expected) => {
    expect(load({ "cluster-cidr": "10.244.0.0/16", ...flags }, env).clusterCidrs).toEqual(expected);
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
    ["no time", { resync: "0" }, {}, ["--resync"]],
    ["a time that no timer can wait for", { resync: "Infinity" }, {}, ["--resync", "86400"]],
    ["a time beyond what timers hold", { resync: "9999999" }, {}, ["--resync", "86400"]],
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
    expect(loadConfig({}, { HCLOUD_TOKEN_FILE: file }).token).toBe("abc");
  });

  it("comes from the variable before the file, even when that is empty", async () => {
    const file = join(dir, "token");
    await writeFile(file, "abc");
    expect(loadConfig({}, { HCLOUD_TOKEN: "direct", HCLOUD_TOKEN_FILE: file }).token).toBe("direct");
    expect(mistakes({}, { HCLOUD_TOKEN: "", HCLOUD_TOKEN_FILE: file })[0]).toContain("HCLOUD_TOKEN is not set");
  });

  it.each([
    ["is missing", {}, "HCLOUD_TOKEN is not set"],
    ["is in a file that cannot be read", { HCLOUD_TOKEN_FILE: "/nowhere/token" }, "HCLOUD_TOKEN_FILE"],
    ["has a line end", { HCLOUD_TOKEN: "abc\n" }, "line ends"],
    ["has a blank", { HCLOUD_TOKEN: "a b" }, "blanks"],
  ])("is refused when it %s", (_, env, message) => {
    const found = mistakes({}, env);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });
});

describe("flags of the official manifests (HCCM F1 to F7)", () => {
  it.each([
    "cloud-provider",
    "allow-untagged-cloud",
    "route-reconciliation-period",
    "feature-gates",
    "webhook-secure-port",
    "leader-elect",
    "allocate-node-cidrs",
    "cluster-cidr",
    "configure-cloud-routes",
    "node-monitor-period",
    "node-status-update-frequency",
  ])("--%s is known", (name) => {
    expect(RUN_FLAGS.map((flag) => flag.name)).toContain(name);
  });

  it("warn when they have no effect, with the reason", () => {
    const flags = {
      "cloud-provider": "hcloud",
      "allow-untagged-cloud": true,
      "route-reconciliation-period": "30s",
      "feature-gates": "CloudControllerManagerWatchBasedRoutesReconciliation=true",
      "webhook-secure-port": "0",
      "node-status-update-frequency": "5m",
      "leader-elect": "false",
    };
    const { warnings } = load(flags);
    expect(warnings).toHaveLength(5);
    for (const warning of warnings) expect(warning).toMatch(/^--[a-z-]+ has no effect: .+/);
  });

  it("take durations as Go writes them, within reason", () => {
    expect(load({}).nodeMonitorMs).toBe(5_000);
    expect(load({ "node-monitor-period": "1m30s" }).nodeMonitorMs).toBe(90_000);
    expect(mistakes({ "node-monitor-period": "5" })).toEqual([
      '--node-monitor-period: "5" is not a duration with unit from 1s to 3600s, such as 1s',
    ]);
  });
});
