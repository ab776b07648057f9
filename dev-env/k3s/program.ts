/** The Pulumi program of an environment's machines (Pulumi.yaml names it): chooses values and composes a `Cluster`. */
import * as pulumi from "@pulumi/pulumi";
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import { Cluster } from "../../stacks/components/index.ts";
import { API_PORT, renderCloudInit } from "./cloud-init.ts";
import { environmentName, publicKey } from "./setting-values.ts";
import { LABEL, parseSettings, SETTING_NAMES, type Settings } from "./settings.ts";

const name = pulumi.getStack();
const config = new pulumi.Config();
const settings = readSettings();

const cluster = new Cluster(name, {
  name,
  labels: { [LABEL]: name },
  location: settings.location,
  network: { ipRange: settings.network, subnet: settings.subnet, zone: settings.zone },
  image: "ubuntu-24.04",
  sshPublicKey: config.require("sshPublicKey"),
  allowFrom: settings.allowFrom,
  apiPort: API_PORT,
  controlPlanes: { count: settings.controlPlanes, serverType: settings.controlPlaneType },
  pools: settings.pools.map((pool) => ({ name: pool.name, count: pool.count, serverType: pool.type })),
  userData: (machine) =>
    pulumi
      .output({ ...machine, k3sToken: config.requireSecret("k3sToken"), hostKey: config.getSecret("hostKey") })
      .apply((resolved) => renderCloudInit({ ...resolved, settings })),
});

/** The stack's outputs. */
export const networkId = cluster.networkId;
export const apiAddress = cluster.apiAddress;
/** Public addresses by name of the server. */
export const servers = Object.fromEntries(
  [["control-plane", cluster.controlPlanes] as const, ...Object.entries(cluster.workers)].flatMap(([pool, machines]) =>
    Object.entries(machines.servers).map(([index, server]) => [`${name}-${pool}-${index}`, server.ipv4]),
  ),
);
/** Another first control plane of one is another cluster. */
export const clusterId = cluster.apiBalancer?.loadBalancerId ?? cluster.controlPlanes.servers["1"]?.serverId;

function readSettings(): Settings {
  const others: string[] = [];
  const named = environmentName(name);
  if ("allowed" in named) others.push(`stack: ${JSON.stringify(name)} is not ${named.allowed}`);
  const key = publicKey(config.get("sshPublicKey") ?? "");
  if ("allowed" in key) others.push(`sshPublicKey: is not ${key.allowed}`);
  // The value itself stays secret; `getSecret` does not warn about reading a secret as text.
  if (config.getSecret("k3sToken") === undefined)
    others.push("k3sToken: is not set: pulumi config set --secret k3sToken $(openssl rand -hex 32)");
  try {
    const given = SETTING_NAMES.flatMap((setting) => {
      const value = config.get(setting);
      return value === undefined ? [] : [[setting, value] as const];
    });
    return parseSettings(Object.fromEntries(given), (setting) => setting, others);
  } catch (error) {
    throw error instanceof ConfigError ? new pulumi.RunError(error.message) : error;
  }
}
