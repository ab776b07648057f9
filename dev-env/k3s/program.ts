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
export const { networkId, apiAddress, addresses: servers } = cluster;

function readSettings(): Settings {
  const named = environmentName(name);
  const key = publicKey(config.get("sshPublicKey") ?? "");
  // The value itself stays secret; `getSecret` does not warn about reading a secret as text.
  const hasToken = config.getSecret("k3sToken") !== undefined;
  const others = [
    ...("allowed" in named ? [`stack: ${JSON.stringify(name)} is not ${named.allowed}`] : []),
    ...("allowed" in key ? [`sshPublicKey: is not ${key.allowed}`] : []),
    ...(hasToken ? [] : ["k3sToken: is not set: pulumi config set --secret k3sToken $(openssl rand -hex 32)"]),
  ];
  try {
    const given = SETTING_NAMES.map((setting) => [setting, config.get(setting)]);
    return parseSettings(Object.fromEntries(given), others);
  } catch (error) {
    throw error instanceof ConfigError ? new pulumi.RunError(error.message) : error;
  }
}
